package dev.verbena.tools;

import static dev.verbena.tools.Failure.usage;

import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.sockets.RdmaSocketOptions;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Streams over rsockets; the peer may be rdma-core's rstream. */
@Command(
    name = "rstream",
    header = "Measures streams over rsockets; the peer may be rdma-core's rstream.")
final class Rstream implements Callable<Integer> {
  private static final int BACKLOG = 50;
  private static final int DEFAULT_BUFFER = 1 << 19;

  @Spec private CommandSpec spec;

  @Option(
      names = "-s",
      paramLabel = "ADDRESS",
      description = "Client: the address of the server; without it: server.")
  private InetAddress server;

  @Option(names = "-b", paramLabel = "ADDRESS", description = "The local address.")
  private InetAddress local;

  @Option(
      names = "-B",
      paramLabel = "BYTES",
      description = "Size of the send and receive buffers; default: 512 KiB.")
  private int bufferSize;

  @Option(
      names = "-i",
      paramLabel = "BYTES",
      description = "Size of inline data of latency tests; default: ${DEFAULT-VALUE}.")
  private int inlineSize = 64;

  @Option(names = "-I", paramLabel = "N", description = "Iterations of a single test.")
  private Integer iterations;

  @Option(names = "-C", paramLabel = "N", description = "Transfers of an iteration.")
  private Integer count;

  @Option(
      names = "-S",
      paramLabel = "BYTES",
      description = "Size of a transfer of a single test, or 'all' for tests of all sizes.")
  private String size;

  @Option(names = "-p", paramLabel = "PORT", description = "Port; default: ${DEFAULT-VALUE}.")
  private int port = 7471;

  @Option(
      names = "-T",
      paramLabel = "OPTION",
      description = {
        "s, sockets: TCP;",
        "a, async: wait by a selector;",
        "b, blocking: blocking channels;",
        "n, nonblocking: non-blocking channels, without waiting (default);",
        "v, verify: verify data."
      })
  private List<String> testOptions = new ArrayList<>();

  private SelectorProvider provider = RdmaSelectorProvider.provider();
  private RstreamTransfers.Waiting waiting = RstreamTransfers.Waiting.SPIN;
  private boolean verify;

  @Override
  public Integer call() throws IOException {
    testOptions.forEach(this::apply);
    boolean allSizes = "all".equalsIgnoreCase(size);
    boolean isSingle = iterations != null || count != null || (size != null && !allSizes);
    RstreamTest single = isSingle ? single(allSizes) : null;
    PrintWriter out = spec.commandLine().getOut();
    if (server != null) {
      run(out, single, allSizes, null);
      return 0;
    }
    try (ServerSocketChannel listener = provider.openServerSocketChannel()) {
      set(listener, StandardSocketOptions.SO_RCVBUF, bufferSize());
      listener.bind(new InetSocketAddress(local == null ? wildcard() : local, port), BACKLOG);
      run(out, single, allSizes, listener);
    }
    return 0;
  }

  private static InetAddress wildcard() {
    return new InetSocketAddress(0).getAddress();
  }

  private void apply(String option) {
    switch (option) {
      case "s", "sockets", "socket" -> provider = SelectorProvider.provider();
      case "a", "async" -> waiting = RstreamTransfers.Waiting.SELECT;
      case "b", "blocking", "block" -> waiting = RstreamTransfers.Waiting.BLOCK;
      case "n", "nonblocking", "nonblock" -> waiting = RstreamTransfers.Waiting.SPIN;
      case "v", "verify" -> verify = true;
      default -> throw usage(spec, "Unknown test option " + option);
    }
  }

  private RstreamTest single(boolean allSizes) {
    int bytes = 1000;
    try {
      bytes = size == null || allSizes ? bytes : Integer.parseInt(size);
    } catch (NumberFormatException e) {
      throw usage(spec, "Invalid size " + size);
    }
    int transfers = count == null ? 1000 : count;
    int repeats = iterations == null ? 1 : iterations;
    if (bytes < 1 || transfers < 1 || repeats < 1) {
      throw usage(spec, "Size, transfers and iterations must be positive");
    }
    return new RstreamTest("custom", bytes, transfers, repeats);
  }

  private int bufferSize() {
    return bufferSize > 0 ? bufferSize : DEFAULT_BUFFER;
  }

  private void run(
      PrintWriter out, RstreamTest single, boolean allSizes, ServerSocketChannel listener)
      throws IOException {
    out.printf(
        "%-10s%-8s%-8s%-8s%-8s%8s %10s%13s%n",
        "name", "bytes", "xfers", "iters", "total", "time", "Gb/sec", "usec/xfer");
    if (single != null) {
      runAll(out, List.of(single), listener, -1);
    } else {
      runAll(out, RstreamTest.latency(allSizes), listener, inlineSize);
      runAll(out, RstreamTest.bandwidth(allSizes), listener, 0);
    }
  }

  /** Runs tests over one connection. */
  private void runAll(
      PrintWriter out, List<RstreamTest> tests, ServerSocketChannel listener, int inline)
      throws IOException {
    int largest = tests.stream().mapToInt(RstreamTest::size).max().orElseThrow();
    try (SocketChannel channel = listener == null ? connect(inline) : accept(listener, inline);
        RstreamTransfers transfers = new RstreamTransfers(channel, waiting, verify, largest)) {
      boolean isClient = listener == null;
      for (RstreamTest test : tests) {
        test.run(transfers, isClient, out);
      }
      channel.shutdownOutput();
    }
  }

  private SocketChannel accept(ServerSocketChannel listener, int inline) throws IOException {
    setInline(listener, inline);
    SocketChannel accepted = listener.accept();
    accepted.setOption(StandardSocketOptions.TCP_NODELAY, true);
    return accepted;
  }

  private SocketChannel connect(int inline) throws IOException {
    SocketChannel channel = provider.openSocketChannel();
    try {
      set(channel, StandardSocketOptions.SO_SNDBUF, bufferSize());
      set(channel, StandardSocketOptions.SO_RCVBUF, bufferSize());
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      setInline(channel, inline);
      if (local != null) {
        channel.bind(new InetSocketAddress(local, 0));
      }
      channel.connect(new InetSocketAddress(server, port));
      return channel;
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  private void setInline(NetworkChannel channel, int inline) throws IOException {
    if (inline >= 0 && provider instanceof RdmaSelectorProvider) {
      set(channel, RdmaSocketOptions.RDMA_INLINE, inline);
    }
  }

  private static void set(NetworkChannel channel, java.net.SocketOption<Integer> option, int value)
      throws IOException {
    channel.setOption(option, value);
  }
}
