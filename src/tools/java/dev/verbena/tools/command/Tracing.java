package dev.verbena.tools.command;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The option of programs that exchange packets, which software devices can print. */
public final class Tracing {
  public static final String OPTION = "--trace";

  @Option(
      names = OPTION,
      description =
          "With a device over UDP (udp:ADDRESS) or with --both-ends, where available: print each"
              + " packet.")
  @SuppressWarnings("UnusedVariable") // Required by picocli: see isWanted.
  private boolean wanted;

  /** Returns whether the option was given to a command. */
  public static boolean isWanted(CommandSpec command) {
    return command.commandLine().getParseResult().hasMatchedOption(OPTION);
  }
}
