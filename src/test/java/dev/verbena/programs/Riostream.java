package dev.verbena.programs;

import dev.verbena.sockets.RdmaSocketChannel;
import dev.verbena.sockets.RdmaSocketOptions;
import dev.verbena.tools.command.Cli;
import java.io.IOException;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Writes into mapped memory over rsockets; the peer may be rdma-core's riostream. */
@Command(
    name = "riostream",
    header =
        "Measures writes into the peer's memory over rsockets; the peer may be rdma-core's"
            + " riostream.",
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  programs riostream --device udp:127.0.0.2 -b 127.0.0.2 -S 64  # server",
      "  programs riostream --device udp:127.0.0.1 -s 127.0.0.2 -S 64"
    })
final class Riostream extends StreamProgram {
  @Option(
      names = "-T",
      paramLabel = "OPTION",
      description = {
        "a, async: wait by a selector;",
        "b, blocking: blocking channels;",
        "n, nonblocking: non-blocking channels, without waiting (default);",
        "v, verify: verify data."
      })
  private List<String> testOptions = new ArrayList<>();

  @Override
  List<String> testOptions() {
    return testOptions;
  }

  @Override
  void prepare(NetworkChannel channel) throws IOException {
    set(channel, RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
  }

  @Override
  StreamTransfers transfers(
      SocketChannel channel, RstreamTransfers.Waiting waiting, boolean verify, int largest)
      throws IOException {
    return new RiostreamTransfers((RdmaSocketChannel) channel, waiting, verify, largest);
  }
}
