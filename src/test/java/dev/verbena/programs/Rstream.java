package dev.verbena.programs;

import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Streams over rsockets; the peer may be rdma-core's rstream. */
@Command(
    name = "rstream",
    header = "Measures streams over rsockets; the peer may be rdma-core's rstream.",
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  programs rstream --device udp:127.0.0.2 -b 127.0.0.2 -S 64  # server",
      "  programs rstream --device udp:127.0.0.1 -s 127.0.0.2 -S 64"
    })
final class Rstream extends StreamProgram {
  @Option(
      names = "-k",
      paramLabel = "SECONDS",
      description = "Keepalive: the idle time after which a message is sent.")
  private int keepalive;

  @Option(
      names = "-T",
      paramLabel = "OPTION",
      description = {
        "s, sockets: TCP;",
        "a, async: wait by a selector;",
        "b, blocking: blocking channels;",
        "f, fork: TCP; the server does not fork;",
        "n, nonblocking: non-blocking channels, without waiting (default);",
        "r, resolve: without effect on IP addresses;",
        "v, verify: verify data."
      })
  private List<String> testOptions = new ArrayList<>();

  @Override
  List<String> testOptions() {
    return testOptions;
  }

  @Override
  boolean applyOwn(String option) {
    switch (option.toLowerCase(Locale.ROOT)) {
      case "s", "sockets", "socket", "f", "fork" -> useTcp();
      case "r", "resolve" -> {}
      default -> {
        return false;
      }
    }
    return true;
  }

  @Override
  void prepareConnection(SocketChannel channel, PrintWriter out) throws IOException {
    if (keepalive <= 0) {
      return;
    }
    channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    SocketOption<Integer> time = keepaliveTime(channel);
    channel.setOption(time, keepalive);
    out.printf("Keepalive: ON%n  time: %d%n", channel.getOption(time));
  }

  /** TCP_KEEPIDLE of the module jdk.net. */
  private static SocketOption<Integer> keepaliveTime(SocketChannel channel) {
    for (SocketOption<?> option : channel.supportedOptions()) {
      if (option.name().equals("TCP_KEEPIDLE")) {
        @SuppressWarnings("unchecked")
        SocketOption<Integer> found = (SocketOption<Integer>) option;
        return found;
      }
    }
    throw new Failure("TCP_KEEPIDLE needs the module jdk.net: java --add-modules jdk.net");
  }

  @Override
  StreamTransfers transfers(
      SocketChannel channel, RstreamTransfers.Waiting waiting, boolean verify, int largest)
      throws IOException {
    return new RstreamTransfers(channel, waiting, verify, largest);
  }
}
