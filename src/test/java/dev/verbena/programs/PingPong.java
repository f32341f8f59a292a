package dev.verbena.programs;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.verbs.Context;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Ping-pong of messages; the peer may be one of rdma-core's pingpong programs. */
@Command(
    name = "pingpong",
    header =
        "Ping-pong of messages; the peer may be ibv_rc_, ibv_uc_, ibv_ud_,"
            + " ibv_srq_ or ibv_xsrq_pingpong.",
    description = "Without HOST: start a server and wait for connection.",
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  programs pingpong --both-ends --xrc",
      "  programs pingpong --ud --device udp:127.0.0.2         # server",
      "  programs pingpong --ud --device udp:127.0.0.1 127.0.0.2"
    })
final class PingPong implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin private PingPongOptions options;

  @Mixin private BothEnds bothEnds;

  @Parameters(arity = "0..1", paramLabel = "HOST", description = "The server to connect to.")
  private String host;

  @Override
  public Integer call() throws Exception {
    options.check();
    if (bothEnds.wanted()) {
      return runBothEnds();
    }
    PrintWriter out = spec.commandLine().getOut();
    try (Arena arena = Arena.ofConfined();
        Context context = options.open()) {
      if (options.isExtended()) {
        new PingPongXrc(options, context, arena).play(host, out);
        return 0;
      }
      PingPongEnd end = options.makeEnd(context, arena);
      print("  local address:  ", end.addresses(), out);
      PingPongExchange exchange = options.exchangeOf(end);
      List<QueuePairAddress> remote =
          host == null
              ? exchange.serve(options.tcpPort(), end::connect)
              : exchange.visit(host, options.tcpPort(), end::connect);
      print("  remote address: ", remote, out);
      long start = System.nanoTime();
      new PingPongRally(end, options.iterations(), options.patience()).play(host != null);
      report(System.nanoTime() - start, out);
    }
    return 0;
  }

  /** The server sleeps: if both ends polled, two cores had nothing left for the devices. */
  private int runBothEnds() throws Exception {
    return BothEnds.run(
        spec,
        options.events()
            ? BothEnds.arguments(spec, "-d", BothEnds.SERVER_DEVICE)
            : BothEnds.arguments(spec, "-d", BothEnds.SERVER_DEVICE, "-e"),
        BothEnds.arguments(spec, "-d", BothEnds.CLIENT_DEVICE, BothEnds.TCP_HOST));
  }

  private static void print(String label, List<QueuePairAddress> addresses, PrintWriter out) {
    addresses.forEach(address -> out.println(label + PingPongAddress.describe(address)));
  }

  private void report(long nanos, PrintWriter out) {
    double seconds = nanos / 1e9;
    long bytes = 2L * options.size() * options.iterations();
    out.printf(
        Locale.ROOT,
        "%d bytes in %.2f seconds = %.2f Mbit/sec%n",
        bytes,
        seconds,
        bytes * 8 / seconds / 1e6);
    out.printf(
        Locale.ROOT,
        "%d iters in %.2f seconds = %.2f usec/iter%n",
        options.iterations(),
        seconds,
        seconds * 1e6 / options.iterations());
  }
}
