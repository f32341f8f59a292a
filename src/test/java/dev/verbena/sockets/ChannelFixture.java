package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.time.Time;
import dev.verbena.testing.Await;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;

/** The channels and selectors of a provider, whose behaviour tests show. */
abstract class ChannelFixture {
  /** A connection. */
  record Pair(SocketChannel client, SocketChannel server) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      client.close();
      server.close();
    }
  }

  private final List<AutoCloseable> opened = new ArrayList<>();

  abstract SelectorProvider provider();

  /** An address to listen at, with any port. */
  abstract InetSocketAddress listening();

  /** An address to connect from, with any port. */
  abstract InetSocketAddress connecting();

  /** Whether the connections are those of the kernel's TCP. */
  boolean isTcp() {
    return false;
  }

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable resource : opened.reversed()) {
      resource.close();
    }
  }

  final <T extends AutoCloseable> T closing(T resource) {
    opened.add(resource);
    return resource;
  }

  final ServerSocketChannel listener() throws IOException {
    return closing(provider().openServerSocketChannel()).bind(listening());
  }

  final SocketChannel client() throws IOException {
    return closing(provider().openSocketChannel()).bind(connecting());
  }

  final Selector selector() throws IOException {
    return closing(provider().openSelector());
  }

  final Pair connected() throws Exception {
    try (ServerSocketChannel listener = provider().openServerSocketChannel().bind(listening())) {
      var accepted = inBackground(listener::accept);
      SocketChannel client = client();
      assertTrue(client.connect(listener.getLocalAddress()));
      return new Pair(client, closing(accepted.get()));
    }
  }

  static <T> FutureTask<T> inBackground(Callable<T> task) {
    FutureTask<T> future = new FutureTask<>(task);
    Time.daemon().start(future);
    return future;
  }

  static <E extends Throwable> E causeOf(Class<E> type, FutureTask<?> task) {
    Throwable cause = assertThrows(ExecutionException.class, task::get).getCause();
    return assertThrows(
        type,
        () -> {
          throw cause;
        });
  }

  /** Waits until a thread waits inside a channel: in C, which no state of the thread shows. */
  static void letItWait() throws InterruptedException {
    Await.pass(Duration.ofMillis(100), "it waits, in C");
  }

  static byte[] random(int size) {
    byte[] bytes = new byte[size];
    new Random(42).nextBytes(bytes);
    return bytes;
  }

  static ByteBuffer direct(byte[] bytes) {
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  static void readFully(SocketChannel channel, ByteBuffer target) throws IOException {
    while (target.hasRemaining()) {
      assertTrue(channel.read(target) > 0, "end of the stream");
    }
  }

  /** Reads a beginning of what was sent, then fails, each time. */
  static void assertReset(SocketChannel channel, byte[] sent) {
    ByteBuffer target = ByteBuffer.allocate(sent.length + 1);
    for (int i = 0; i < 3; i++) {
      SocketException reset =
          assertThrows(
              SocketException.class,
              () -> {
                while (channel.read(target) >= 0) {
                  // Until it fails.
                }
              });
      assertEquals("Connection reset", reset.getMessage());
    }
    assertArrayEquals(Arrays.copyOf(sent, target.position()), bytes(target));
  }

  static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.position()];
    buffer.get(0, bytes);
    return bytes;
  }

  /** Waits for the end of a task, which a closed channel may have failed. */
  static void await(FutureTask<?> task) throws InterruptedException {
    try {
      assertNotNull(task.get());
    } catch (ExecutionException e) {
      assertTrue(e.getCause() instanceof IOException, e::toString);
    }
  }
}
