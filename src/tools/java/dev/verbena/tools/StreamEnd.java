package dev.verbena.tools;

import dev.verbena.tools.command.Peer;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.HdrHistogram.Histogram;

/**
 * One end of a measurement of byte streams, over RDMA or over TCP. A round trip is a message and
 * its answer of the same size; for bandwidth, the answer is one byte at the end.
 */
final class StreamEnd {
  private final SocketChannel channel;
  private final PerfTask task;
  private final ByteBuffer buffer;
  private final ByteBuffer answer = ByteBuffer.allocateDirect(1);

  private StreamEnd(SocketChannel channel, PerfTask task) {
    this.channel = channel;
    this.task = task;
    buffer = ByteBuffer.allocateDirect(task.size());
  }

  /** Listens, sends the address to the client of the control connection, and serves it. */
  static void serve(
      SelectorProvider provider, InetAddress local, Peer peer, PerfTask task, Duration limit)
      throws IOException, InterruptedException {
    try (ServerSocketChannel listener = provider.openServerSocketChannel()) {
      try {
        listener.bind(new InetSocketAddress(local, 0));
      } catch (IOException e) {
        throw new ImpossibleException("no socket on the address of the device: " + e.getMessage());
      }
      InetSocketAddress bound = (InetSocketAddress) listener.getLocalAddress();
      ImpossibleException.yes(peer, local.getHostAddress() + " " + bound.getPort());
      within(
          limit,
          () -> {
            try (SocketChannel channel = listener.accept()) {
              new StreamEnd(prepared(channel), task).serve();
            }
            return true;
          });
    }
  }

  /** Performs a call on a connection to the server. */
  static <T> T visit(
      SelectorProvider provider,
      InetAddress local,
      InetSocketAddress server,
      PerfTask task,
      Duration limit,
      Measurement<StreamEnd, T> call)
      throws IOException, InterruptedException {
    try (SocketChannel channel = provider.openSocketChannel()) {
      try {
        channel.bind(new InetSocketAddress(local, 0));
      } catch (IOException e) {
        throw new ImpossibleException("no socket on the address of the device: " + e.getMessage());
      }
      return within(
          limit,
          () -> {
            channel.connect(server);
            return call.of(new StreamEnd(prepared(channel), task));
          });
    }
  }

  private static SocketChannel prepared(SocketChannel channel) throws IOException {
    return channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
  }

  /** Calls in another thread; after the limit the caller closes the channel, which ends it. */
  private static <T> T within(Duration limit, Callable<T> call)
      throws IOException, InterruptedException {
    FutureTask<T> running = new FutureTask<>(call);
    Thread thread = Thread.ofPlatform().daemon().name("stream").start(running);
    try {
      return running.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      thread.interrupt();
      throw new IOException("the stream has not ended within " + limit.toSeconds() + " s", e);
    } catch (ExecutionException e) {
      throw new IOException(String.valueOf(e.getCause().getMessage()), e);
    }
  }

  private void serve() throws IOException {
    for (int i = 0; i < task.total(); i++) {
      read(buffer);
      if (!task.plan().stream()) {
        write(buffer);
      }
    }
    if (task.plan().stream()) {
      write(answer);
    }
    // The client closes first: it has all answers then.
    if (channel.read(answer.clear()) >= 0) {
      throw new IOException("the client has sent more than it measures");
    }
  }

  /** Returns half of the times of round trips, in nanoseconds. */
  Histogram latency() throws IOException {
    Histogram times = new Histogram(3);
    for (int i = 0; i < task.total(); i++) {
      long start = System.nanoTime();
      write(buffer);
      read(buffer);
      if (i >= task.warmUp()) {
        times.recordValue((System.nanoTime() - start) / 2);
      }
    }
    return times;
  }

  /** Returns the messages in a second. */
  double bandwidth() throws IOException {
    long start = System.nanoTime();
    for (int i = 0; i < task.total(); i++) {
      write(buffer);
    }
    read(answer);
    return task.total() * 1e9 / (System.nanoTime() - start);
  }

  private void write(ByteBuffer bytes) throws IOException {
    bytes.clear();
    while (bytes.hasRemaining()) {
      int _ = channel.write(bytes);
    }
  }

  private void read(ByteBuffer bytes) throws IOException {
    bytes.clear();
    while (bytes.hasRemaining()) {
      if (channel.read(bytes) < 0) {
        throw new EOFException("the peer has closed the stream");
      }
    }
  }
}
