package dev.verbena.tools;

import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.HostDevices;
import dev.verbena.tools.command.UdpDevice;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Context;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Prints the asynchronous events of a device. */
@Command(
    name = "events",
    header = "Print the asynchronous events of a device and its ports.",
    description = "Ends with ^C, or as given by the options.",
    footerHeading = Cli.EXAMPLES,
    footer = "  verbena events -d mlx5_0 -n 1 -t 60")
final class Events implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = {"-d", "--ib-dev", UdpDevice.OPTION},
      paramLabel = "DEVICE",
      description = "Device, or udp:ADDRESS; default: the first one.")
  private String name;

  @Option(
      names = {"-n", "--count"},
      paramLabel = "N",
      description = "Number of events after which to end; default: unlimited.")
  private long count = Long.MAX_VALUE;

  @Option(
      names = {"-t", "--timeout"},
      paramLabel = "SECONDS",
      description = "Fail if no event arrives within this time; default: unlimited.")
  private long seconds = Long.MAX_VALUE;

  @Override
  public Integer call() throws InterruptedException {
    Failure.require(spec, "--count", count, 1, Long.MAX_VALUE);
    Failure.require(spec, "--timeout", seconds, 1, Long.MAX_VALUE);
    PrintWriter out = spec.commandLine().getOut();
    try (Context context = HostDevices.orFirst(name).open()) {
      out.println("watching " + context.device());
      for (long seen = 0; seen < count; seen++) {
        AsyncEvent event = AsyncEvents.of(context).poll(Duration.ofSeconds(seconds));
        if (event == null) {
          throw new IllegalStateException("no event within " + seconds + " s");
        }
        LocalTime now = LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.MILLIS);
        out.println(now + " " + subject(event, context) + ": " + event.type().text());
      }
    }
    return 0;
  }

  private static String subject(AsyncEvent event, Context context) {
    return event instanceof AsyncEvent.OfPort port
        ? "port " + port.port() + " of " + context.device()
        : context.device().toString();
  }
}
