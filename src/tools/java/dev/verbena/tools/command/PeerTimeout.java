package dev.verbena.tools.command;

import java.time.Duration;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The option for the time within which a connected peer must answer. */
public final class PeerTimeout {
  private static final int MAX_SECONDS = 1_000_000;

  @Spec(Target.MIXEE)
  private CommandSpec command;

  private Duration time = Patience.WITH_PEER;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "Time within which a connected peer must answer; default: 60.")
  public void seconds(int seconds) {
    Failure.require(command, "--timeout", seconds, 1, MAX_SECONDS);
    time = Duration.ofSeconds(seconds);
  }

  public Duration time() {
    return time;
  }
}
