package dev.verbena.tools;

import static dev.verbena.tools.Failure.usage;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
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

  @Option(names = "--json", description = "Write JSON.")
  private boolean json;

  @Option(names = "--chart", paramLabel = "FILE", description = "Write a chart, as SVG.")
  private Path chart;

  @Parameters(arity = "0..1", paramLabel = "HOST", description = "The server to connect to.")
  private String host;

  boolean bothEnds() {
    return bothEnds.wanted();
  }

  int runBothEnds() throws Exception {
    return cm
        ? BothEnds.run(
            command,
            BothEnds.arguments(command, "--from", BothEnds.SERVER_ADDRESS),
            BothEnds.arguments(command, "--from", BothEnds.CLIENT_ADDRESS, BothEnds.SERVER_ADDRESS))
        : BothEnds.run(
            command,
            BothEnds.arguments(command, "-d", BothEnds.SERVER_DEVICE),
            BothEnds.arguments(command, "-d", BothEnds.CLIENT_DEVICE, BothEnds.TCP_HOST));
  }

  boolean isServer() {
    return host == null;
  }

  boolean json() {
    return json;
  }

  /** Waits for a client, which sends the task. */
  PerfEnd serve() throws IOException, InterruptedException {
    check();
    if (!cm) {
      return PerfTcpEnd.serve(port, device, timeout.time());
    }
    return PerfCmEnd.serve(
        from == null ? new InetSocketAddress(port) : new InetSocketAddress(from, port),
        timeout.time());
  }

  /** Connects to a server, and sends it the task. */
  PerfEnd visit(PerfTask task) throws IOException, InterruptedException {
    check();
    if (!cm) {
      return PerfTcpEnd.visit(host, port, task, device, timeout.time());
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

  PerfTask task(int usualSize) {
    boolean atomic = operation == PerfTask.Operation.ATOMIC;
    int wanted = size != null ? size : usualSize;
    return new PerfTask(operation, atomic ? Long.BYTES : wanted, warmUp, iterations);
  }

  void write(Chart drawn) throws IOException {
    if (chart != null) {
      Files.writeString(chart, drawn.svg(), StandardCharsets.UTF_8);
    }
  }
}
