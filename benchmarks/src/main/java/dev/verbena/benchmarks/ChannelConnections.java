package dev.verbena.benchmarks;

import com.sun.management.UnixOperatingSystemMXBean;
import dev.verbena.sockets.RdmaSelectorProvider;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/**
 * What a connection of channels costs: {@code ChannelConnections COUNT FROM TO}, with the addresses
 * of two devices. Connects, accepts and closes both ends in this process, one connection after the
 * other, and then connects where nobody listens; over RDMA and over TCP of the loopback interface.
 * Prints a row of a table for each: the time and the processor time of all threads of the process,
 * in milliseconds, of the first connection, and of each after the first COUNT.
 */
public final class ChannelConnections {
  private static final UnixOperatingSystemMXBean SYSTEM =
      (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final SelectorProvider provider;
  private final InetSocketAddress from;
  private final InetSocketAddress to;

  private ChannelConnections(SelectorProvider provider, InetSocketAddress from, String to) {
    this.provider = provider;
    this.from = from;
    this.to = new InetSocketAddress(to, 0);
  }

  private interface Connecting {
    void connect() throws IOException;
  }

  /** Times of a number of connections, in nanoseconds. */
  private record Times(int count, long elapsed, long processor) {
    static Times of(int count, Connecting connecting) throws IOException {
      long elapsed = System.nanoTime();
      long processor = SYSTEM.getProcessCpuTime();
      long descriptors = SYSTEM.getOpenFileDescriptorCount();
      for (int i = 0; i < count; i++) {
        connecting.connect();
      }
      while (count > 1 && SYSTEM.getOpenFileDescriptorCount() > descriptors) {
        LockSupport.parkNanos(1_000_000); // Threads of their own release what is closed.
      }
      return new Times(count, System.nanoTime() - elapsed, SYSTEM.getProcessCpuTime() - processor);
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT, "%.3f | %.3f", elapsed / 1e6 / count, processor / 1e6 / count);
    }
  }

  private void measure(String name, int count, Connecting connecting) throws IOException {
    Times first = Times.of(1, connecting);
    Times _ = Times.of(count, connecting);
    System.out.printf("| %s | %s | %s |%n", name, first, Times.of(count, connecting));
  }

  private void measure(String transport, int count) throws IOException {
    InetSocketAddress closed;
    try (ServerSocketChannel listener = provider.openServerSocketChannel()) {
      listener.bind(to);
      InetSocketAddress peer = (InetSocketAddress) listener.getLocalAddress();
      measure(transport, count, () -> connect(listener, peer));
      closed = peer;
    }
    measure(transport + ", refused", count, () -> refuse(closed));
  }

  private void connect(ServerSocketChannel listener, InetSocketAddress peer) throws IOException {
    try (SocketChannel client = provider.openSocketChannel()) {
      client.bind(from);
      client.connect(peer);
      listener.accept().close();
    }
  }

  private void refuse(InetSocketAddress peer) throws IOException {
    try (SocketChannel client = provider.openSocketChannel()) {
      client.bind(from);
      client.connect(peer);
      throw new AssertionError("somebody listens at " + peer);
    } catch (ConnectException e) {
      // As it should be.
    }
  }

  /** Prints the rows. */
  public static void main(String[] arguments) throws IOException {
    int count = Integer.parseInt(arguments[0]);
    System.out.println(
        "| connection | first, ms | processor, ms | each of %,d, ms | processor, ms |"
            .formatted(count));
    System.out.println("|---|---:|---:|---:|---:|");
    SelectorProvider rdma = RdmaSelectorProvider.provider();
    new ChannelConnections(rdma, new InetSocketAddress(arguments[1], 0), arguments[2])
        .measure("RDMA", count);
    SelectorProvider tcp = SelectorProvider.provider();
    new ChannelConnections(
            tcp, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "127.0.0.1")
        .measure("TCP", count);
  }
}
