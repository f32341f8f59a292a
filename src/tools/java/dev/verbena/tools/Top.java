package dev.verbena.tools;

import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.output.Json;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows the traffic, the queue pairs and the connections of this host, again and again. */
@Command(
    name = "top",
    header = "Show devices, their traffic, queue pairs and connections of this host, live.",
    description = {
      "Opens no device: reads /sys/class/infiniband, and runs rdma resource show (package"
          + " iproute2).",
      "Ends with ^C, or as given by the options."
    },
    footerHeading = Cli.EXAMPLES,
    footer = "  verbena top -d mlx5_0 -n 1 --json")
final class Top implements Callable<Integer> {
  private static final String CLEAR_SCREEN = "\033[H\033[2J";

  private final Machine machine;
  private final Resources resources;

  @Spec private CommandSpec spec;

  @Option(
      names = {"-d", "--ib-dev"},
      paramLabel = "DEVICE",
      description = "One device; default: all.")
  private String name;

  @Option(
      names = {"-i", "--interval"},
      paramLabel = "SECONDS",
      description = "Time between two tables; default: ${DEFAULT-VALUE}.")
  private int interval = 1;

  @Option(
      names = {"-n", "--count"},
      paramLabel = "N",
      description = "Number of tables after which to end; default: unlimited.")
  private long count = Long.MAX_VALUE;

  @Option(
      names = {"-r", "--rows"},
      paramLabel = "N",
      description =
          "Number of queue pairs, and of connections, that a table shows at most; default:"
              + " ${DEFAULT-VALUE}.")
  private int rows = 20;

  @Option(names = "--json", description = "Write JSON, with all queue pairs and connections.")
  private boolean json;

  /** Lists the objects of a kind, as {@link RdmaResource#show} does. */
  interface Resources {
    RdmaResource show(String kind) throws InterruptedException;
  }

  Top() {
    this(Machine.THIS, RdmaResource::show);
  }

  Top(Machine machine, Resources resources) {
    this.machine = machine;
    this.resources = resources;
  }

  @Override
  public Integer call() throws InterruptedException {
    Failure.require(spec, "--interval", interval, 1, Integer.MAX_VALUE);
    Failure.require(spec, "--count", count, 1, Long.MAX_VALUE);
    Failure.require(spec, "--rows", rows, 0, Integer.MAX_VALUE);
    if (machine.names(PortCounters.DEVICES).isEmpty()) {
      throw new UnsupportedOperationException(
          "no RDMA device in "
              + PortCounters.DEVICES
              + ": see verbena doctor. A software device exists in one JVM, whose JFR events show"
              + " its connections");
    }
    List<PortCounters> before = ports();
    long then = System.nanoTime();
    for (long shown = 0; shown < count; shown++) {
      Thread.sleep(Duration.ofSeconds(interval));
      List<PortCounters> ports = ports();
      long now = System.nanoTime();
      show(
          new HostActivity(ports, before, (now - then) / 1e9, resources("qp"), resources("cm_id")));
      before = ports;
      then = now;
    }
    return 0;
  }

  private List<PortCounters> ports() {
    return PortCounters.read(machine).stream().filter(port -> isChosen(port.name())).toList();
  }

  private RdmaResource resources(String kind) throws InterruptedException {
    RdmaResource all = resources.show(kind);
    return new RdmaResource(
        all.objects().stream().filter(object -> isChosen(object.getOrDefault("link", ""))).toList(),
        all.problem());
  }

  /** Returns whether a port, such as {@code rxe0/1}, belongs to the chosen device. */
  private boolean isChosen(String port) {
    return name == null || port.startsWith(name + "/");
  }

  private void show(HostActivity activity) {
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(Json.of(activity.tree()));
    } else {
      boolean terminal = spec.commandLine().getColorScheme().ansi().enabled();
      LocalTime now = LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.SECONDS);
      out.println((terminal ? CLEAR_SCREEN : "") + now);
      if (activity.ports().isEmpty()) {
        out.println(
            "no RDMA device " + (name == null ? "" : name + " ") + "in " + PortCounters.DEVICES);
      } else {
        new HostTables(activity, rows, out).print();
      }
      out.println();
    }
    out.flush();
  }
}
