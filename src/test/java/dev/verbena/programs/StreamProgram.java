package dev.verbena.programs;

import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.sockets.RdmaSocketOptions;
import dev.verbena.tools.command.UdpDevice;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What rdma-core's rstream and riostream have in common. */
abstract class StreamProgram implements Callable<Integer> {
  private static final int BACKLOG = 50;
  private static final int DEFAULT_BUFFER = 1 << 19;

  @Spec private CommandSpec spec;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private UdpDevice device;

  @Option(
      names = "-s",
      paramLabel = "ADDRESS",
      description = "Client: the address of the server; without it: server.")
  private InetAddress server;

  @Option(names = "-b", paramLabel = "ADDRESS", description = "The local address.")
  private InetAddress local;

  @Option(
      names = "-f",
      paramLabel = "FORMAT",
      description = "Format of addresses: name, ip or ipv6, which are all accepted without it.")
  private String format = "name";

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

  private SelectorProvider provider = RdmaSelectorProvider.provider();
  private RstreamTransfers.Waiting waiting = RstreamTransfers.Waiting.SPIN;
  private boolean verify;
  private boolean titled;

  /** Returns the test options, {@code -T}. */
  abstract List<String> testOptions();

  /** Applies a test option that only this program has; returns whether there is one. */
  boolean applyOwn(String option) {
    return false;
  }

  /** Sets what the program needs, on a channel that listens or is not connected yet. */
  void prepare(NetworkChannel channel) throws IOException {}

  /** Sets what the program needs, on a channel that is not connected yet, or was accepted. */
  void prepareConnection(SocketChannel channel, PrintWriter out) throws IOException {}

  /** Returns the transfers over a connection, none of which is larger. */
  abstract StreamTransfers transfers(
      SocketChannel channel, RstreamTransfers.Waiting waiting, boolean verify, int largest)
      throws IOException;

  /** Makes it use TCP. */
  final void useTcp() {
    provider = SelectorProvider.provider();
  }

  @Override
  public final Integer call() throws IOException {
    if (!List.of("name", "ip", "ipv6").contains(format)) {
      throw usage(spec, "The address format must be name, ip or ipv6: " + format);
    }
    testOptions().forEach(this::apply);
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
      prepare(listener);
      listener.bind(new InetSocketAddress(local == null ? wildcard() : local, port), BACKLOG);
      run(out, single, allSizes, listener);
    }
    return 0;
  }

  private static InetAddress wildcard() {
    return new InetSocketAddress(0).getAddress();
  }

  private void apply(String option) {
    switch (option.toLowerCase(Locale.ROOT)) {
      case "a", "async" -> waiting = RstreamTransfers.Waiting.SELECT;
      case "b", "blocking", "block" -> waiting = RstreamTransfers.Waiting.BLOCK;
      case "n", "nonblocking", "nonblock" -> waiting = RstreamTransfers.Waiting.SPIN;
      case "v", "verify" -> verify = true;
      default -> {
        if (!applyOwn(option)) {
          throw usage(spec, "Unknown test option " + option);
        }
      }
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
    if (single != null) {
      runAll(out, List.of(single), listener, -1);
    } else {
      runAll(out, RstreamTest.latency(allSizes), listener, inlineSize);
      runAll(out, RstreamTest.bandwidth(allSizes), listener, 0);
    }
  }

  /** Prints the head of the table, once, when there is a connection. */
  private void printTitles(PrintWriter out) {
    if (!titled) {
      out.printf(
          "%-10s%-8s%-8s%-8s%-8s%8s %10s%13s%n",
          "name", "bytes", "xfers", "iters", "total", "time", "Gb/sec", "usec/xfer");
      titled = true;
    }
  }

  /** Runs tests over one connection. */
  private void runAll(
      PrintWriter out, List<RstreamTest> tests, ServerSocketChannel listener, int inline)
      throws IOException {
    int largest = tests.stream().mapToInt(RstreamTest::size).max().orElseThrow();
    boolean isClient = listener == null;
    try (SocketChannel channel = isClient ? connect(out, inline) : accept(listener, out, inline);
        StreamTransfers transfers = transfers(channel, waiting, verify, largest)) {
      printTitles(out);
      for (RstreamTest test : tests) {
        test.run(transfers, isClient, out);
      }
      channel.shutdownOutput();
    }
  }

  private SocketChannel accept(ServerSocketChannel listener, PrintWriter out, int inline)
      throws IOException {
    setInline(listener, inline);
    SocketChannel accepted = listener.accept();
    try {
      accepted.setOption(StandardSocketOptions.TCP_NODELAY, true);
      prepareConnection(accepted, out);
      return accepted;
    } catch (IOException e) {
      accepted.close();
      throw e;
    }
  }

  private SocketChannel connect(PrintWriter out, int inline) throws IOException {
    SocketChannel channel = provider.openSocketChannel();
    try {
      set(channel, StandardSocketOptions.SO_SNDBUF, bufferSize());
      set(channel, StandardSocketOptions.SO_RCVBUF, bufferSize());
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      setInline(channel, inline);
      prepare(channel);
      prepareConnection(channel, out);
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

  static void set(NetworkChannel channel, java.net.SocketOption<Integer> option, int value)
      throws IOException {
    channel.setOption(option, value);
  }
}
