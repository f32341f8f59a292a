package dev.verbena.programs;

import dev.verbena.sockets.RdmaSocketChannel;
import dev.verbena.sockets.RdmaSocketOptions;
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
            + " riostream.")
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
