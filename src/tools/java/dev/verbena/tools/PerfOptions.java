package dev.verbena.tools;

import static dev.verbena.tools.command.Failure.require;
import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.tools.PerfOutput.Form;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Peer;
import dev.verbena.tools.command.PeerTimeout;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/**
 * The common options of both measurements. The client sends the task to the server, which needs
 * none of them.
 */
final class PerfOptions {
  /** Of operations, which a batch may round up. */
  private static final int MAX_NUMBER = 1_000_000_000;

  private static final Pattern RANGE = Pattern.compile("(\\d+):(\\d+)(?::(\\d+))?");

  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Mixin private DeviceOptions device;

  @Mixin private BothEnds bothEnds;

  @Mixin private PeerTimeout timeout;

  @Option(
      names = {"-R", "--cm"},
      description = "Connect by RDMA CM, at both ends: HOST is an address of an RDMA device.")
  private boolean cm;

  @Option(
      names = "--from",
      paramLabel = "ADDRESS",
      description = "With --cm: the source address, which determines the device; default: any.")
  private InetAddress from;

  @Option(
      names = {"-o", "--op"},
      paramLabel = "OP",
      description = "${COMPLETION-CANDIDATES}; default: ${DEFAULT-VALUE}.")
  private PerfTask.Operation operation = PerfTask.Operation.SEND;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description =
          "Size of a message; 8 for atomics. Default: 64 for latency, 65536 for bandwidth.")
  private Integer size;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "Number of operations; default: ${DEFAULT-VALUE}.")
  private int iterations = 5000;

  @Option(
      names = {"-w", "--warm-up"},
      paramLabel = "N",
      description = "Number of warm-up operations, not measured; default: ${DEFAULT-VALUE}.")
  private int warmUp = 2000;

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "Port to listen on or to connect to; default: ${DEFAULT-VALUE}.")
  private int port = 18516;

  @Option(
      names = {"-e", "--events"},
      description = "Wait for completions by completion events, at both ends; default: by polling.")
  private boolean events;

  private @Nullable Sweep sweep;

  /** The sizes of a sweep. */
  private record Sweep(int from, int to, int factor) {}

  @Option(
      names = "--sizes",
      paramLabel = "FROM:TO[:FACTOR]",
      description =
          "Measure sizes from FROM to TO bytes, each FACTOR times the one before; default: 2.")
  void sizes(String range) {
    Matcher match = RANGE.matcher(range);
    try {
      if (match.matches()) {
        String factor = match.group(3);
        sweep =
            new Sweep(
                Integer.parseInt(match.group(1)),
                Integer.parseInt(match.group(2)),
                factor == null ? 2 : Integer.parseInt(factor));
        return;
      }
    } catch (NumberFormatException _) {
      // Reported below.
    }
    throw usage(command, "--sizes takes FROM:TO[:FACTOR], such as 1:65536:4, not " + range);
  }

  @Option(
      names = {"-a", "--all"},
      description = "The same as --sizes 2:8388608.")
  void all(boolean wanted) {
    sweep = wanted ? new Sweep(2, 8 << 20, 2) : null;
  }

  private Form form = Form.TEXT;

  @Option(names = "--json", description = "Write JSON.")
  void json(boolean wanted) {
    choose(wanted, Form.JSON);
  }

  @Option(names = "--csv", description = "Write comma-separated values.")
  void csv(boolean wanted) {
    choose(wanted, Form.CSV);
  }

  private void choose(boolean wanted, Form chosen) {
    if (wanted && form != Form.TEXT) {
      throw usage(command, "either --json or --csv");
    }
    form = wanted ? chosen : form;
  }

  @Option(names = "--chart", paramLabel = "FILE", description = "Write a chart, as SVG.")
  private @Nullable Path chart;

  @Parameters(arity = "0..1", paramLabel = "HOST", description = "The server to connect to.")
  private String host;

  /** Serves a client, or measures as one, or does both; returns the exit status. */
  int run(Callable<Integer> client) throws Exception {
    if (bothEnds.wanted()) {
      if (host != null) {
        throw usage(command, BothEnds.OPTION + " has a server of its own: omit " + host);
      }
      return cm
          ? BothEnds.run(
              command,
              BothEnds.arguments(command, "--from", BothEnds.SERVER_ADDRESS),
              BothEnds.arguments(
                  command, "--from", BothEnds.CLIENT_ADDRESS, BothEnds.SERVER_ADDRESS))
          : BothEnds.run(
              command,
              BothEnds.arguments(command, "-d", BothEnds.SERVER_DEVICE),
              BothEnds.arguments(command, "-d", BothEnds.CLIENT_DEVICE, BothEnds.TCP_HOST));
    }
    if (host != null) {
      return client.call();
    }
    PeerServer.serve(serve());
    return 0;
  }

  PrintWriter out() {
    return command.commandLine().getOut();
  }

  PrintWriter err() {
    return command.commandLine().getErr();
  }

  Form form() {
    return form;
  }

  /** Returns the file of the chart; null if there is none. */
  @Nullable Path chart() {
    return chart;
  }

  /** Waits for a client, which sends the task. */
  private PerfEnd serve() throws IOException, InterruptedException {
    check();
    if (!cm) {
      device.checkedDevice();
      return PerfTcpEnd.serve(Peer.accept(port, timeout.time()), device, timeout.time());
    }
    return PerfCmEnd.serve(
        from == null ? new InetSocketAddress(port) : new InetSocketAddress(from, port),
        timeout.time());
  }

  /** Connects to a server, and sends it the task. */
  PerfEnd visit(PerfTask task) throws IOException, InterruptedException {
    check();
    if (cm && task.plan().queuePairs() > 1) {
      throw usage(command, "several queue pairs are connected over TCP only: -q without --cm");
    }
    if (!cm) {
      device.checkedDevice();
      return PerfTcpEnd.visit(
          Peer.connect(host, port, timeout.time()), task, device, timeout.time());
    }
    InetSocketAddress local = from == null ? null : new InetSocketAddress(from, 0);
    return PerfCmEnd.visit(
        local, new InetSocketAddress(InetAddress.getByName(host), port), task, timeout.time());
  }

  private void check() {
    if (cm && device.isGiven()) {
      throw usage(
          command,
          "with --cm the address determines device, port and GID: use --from instead of -d, -i or"
              + " -g");
    }
    if (!cm && from != null) {
      throw usage(command, "--from requires --cm");
    }
  }

  PerfTask.Operation operation() {
    return operation;
  }

  /**
   * Returns the measurement that the options describe.
   *
   * @param batch the number of operations that are posted together, of which the numbers are
   *     multiples
   * @param polls whether each end polls its memory, unless it waits for events
   */
  PerfTask task(int usualSize, int batch, int queuePairs, boolean bidirectional, boolean polls) {
    boolean atomic = operation == PerfTask.Operation.ATOMIC;
    if (sweep != null && (atomic || size != null)) {
      throw usage(
          command, atomic ? "atomics have 8 bytes: omit the sizes" : "either -s or --sizes");
    }
    require(command, "--iters", iterations, 1, MAX_NUMBER / queuePairs);
    require(command, "--warm-up", warmUp, 0, MAX_NUMBER / queuePairs);
    if (size != null) {
      require(command, "--size", size, 1, PerfTask.MAX_SIZE);
    }
    if (sweep != null && (sweep.from() > sweep.to() || sweep.to() > PerfTask.MAX_SIZE)) {
      throw usage(
          command,
          "--sizes must rise, to at most %d: %d:%d"
              .formatted(PerfTask.MAX_SIZE, sweep.from(), sweep.to()));
    }
    int largest = sweep != null ? sweep.to() : size != null ? size : usualSize;
    largest = atomic ? Long.BYTES : largest;
    try {
      PerfPlan plan =
          new PerfPlan(
              sweep != null ? sweep.from() : Math.max(largest, 1),
              sweep != null ? sweep.factor() : 2,
              queuePairs,
              bidirectional,
              batch > 1,
              events,
              polls && !events,
              Link.DEPTH);
      return new PerfTask(
          operation,
          largest,
          Math.ceilDiv(warmUp, batch) * batch,
          Math.ceilDiv(iterations, batch) * batch,
          plan);
    } catch (IllegalArgumentException e) {
      throw usage(command, e.getMessage());
    }
  }
}
