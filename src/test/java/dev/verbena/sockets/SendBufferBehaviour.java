package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** What a channel accepts of a program whose peer does not read, and when that arrives. */
abstract class SendBufferBehaviour extends ChannelFixture {
  /** More than two sockets buffer. */
  private static final int MUCH = 16 << 20;

  private static final int MEGABYTE = 1_000_000;

  /** A buffer for small writes: on a busy host, each to a software device takes milliseconds. */
  private static final int SMALL = 8_000;

  /** Lets a channel buffer a number of bytes; TCP does it by itself: Linux, up to 4 MiB. */
  void buffer(NetworkChannel channel, int bytes) throws IOException {
    channel.setOption(StandardSocketOptions.SO_RCVBUF, bytes);
    if (channel.supportedOptions().contains(StandardSocketOptions.SO_SNDBUF)) {
      channel.setOption(StandardSocketOptions.SO_SNDBUF, bytes);
    }
  }

  /** Writes until nothing is accepted; returns the number of bytes. */
  private static int fill(SocketChannel channel, byte[] data, int atOnce) throws Exception {
    channel.configureBlocking(false);
    ByteBuffer source = direct(data);
    for (boolean isFull = false; !isFull; ) {
      isFull = !writeMore(channel, source, atOnce);
      if (isFull) {
        letItWait(); // The peer's system may still take some.
        isFull = !writeMore(channel, source, atOnce);
      }
    }
    channel.configureBlocking(true);
    return source.position();
  }

  /** Writes some bytes at once; returns whether any was accepted. */
  private static boolean writeMore(SocketChannel channel, ByteBuffer source, int atOnce)
      throws IOException {
    assertTrue(source.hasRemaining(), "more than sockets buffer");
    int count = channel.write(source.limit(Math.min(source.position() + atOnce, MUCH)));
    source.limit(MUCH);
    return count > 0;
  }

  private static int readUpTo(SocketChannel channel, ByteBuffer target, int size)
      throws IOException {
    target.limit(Math.min(target.position() + size, target.capacity()));
    return channel.read(target);
  }

  /** Reads to the end of the stream, which is a beginning of what was written. */
  private static int readBeginning(SocketChannel channel, byte[] written) throws IOException {
    ByteBuffer target = ByteBuffer.allocate(written.length + 1);
    while (channel.read(target) >= 0) {
      assertTrue(target.hasRemaining(), "more than was written");
    }
    assertArrayEquals(Arrays.copyOf(written, target.position()), bytes(target));
    return target.position();
  }

  @Test
  void smallWritesFillTheBuffer() throws Exception {
    for (int size : new int[] {7, 100}) {
      try (ServerSocketChannel listener = provider().openServerSocketChannel()) {
        listener.setOption(StandardSocketOptions.SO_RCVBUF, SMALL);
        SocketChannel client = client().setOption(StandardSocketOptions.SO_SNDBUF, SMALL);
        var accepted = inBackground(listener.bind(listening())::accept);
        client.connect(listener.getLocalAddress());
        SocketChannel server = closing(accepted.get());
        byte[] data = random(MUCH);
        int written = fill(client, data, size);
        assertTrue(written >= SMALL, () -> written + " with writes of " + size);
        client.shutdownOutput();
        assertEquals(written, readBeginning(server, data));
      }
    }
  }

  @Test
  void bothEndsWriteBeforeTheyRead() throws Exception {
    writeBeforeReading(connected(), 100_000);
  }

  @Test
  void bothEndsWriteMuchBeforeTheyRead() throws Exception {
    try (ServerSocketChannel listener = provider().openServerSocketChannel();
        SocketChannel client = client()) {
      buffer(listener, MEGABYTE);
      buffer(client, MEGABYTE);
      var accepted = inBackground(listener.bind(listening())::accept);
      client.connect(listener.getLocalAddress());
      writeBeforeReading(new Pair(client, closing(accepted.get())), MEGABYTE);
    }
  }

  private static void writeBeforeReading(Pair pair, int size) throws IOException {
    byte[] data = random(size);
    assertEquals(size, pair.client().write(direct(data)));
    assertEquals(size, pair.server().write(direct(data)));
    ByteBuffer target = ByteBuffer.allocate(size);
    readFully(pair.server(), target);
    assertArrayEquals(data, target.array());
    readFully(pair.client(), target.clear());
    assertArrayEquals(data, target.array());
  }

  @Test
  void bufferedBytesPrecedeTheEndOfTheStream() throws Exception {
    Pair pair = connected();
    byte[] data = random(MUCH);
    int written = fill(pair.client(), data, MUCH);
    pair.client().shutdownOutput();
    assertThrows(ClosedChannelException.class, () -> pair.client().write(ByteBuffer.allocate(1)));
    assertEquals(written, readBeginning(pair.server(), data));
    pair.server().write(ByteBuffer.wrap(random(10)));
    readFully(pair.client(), ByteBuffer.allocate(10));
  }

  @Test
  void closeDeliversBufferedBytes() throws Exception {
    for (int size : new int[] {1000, MUCH}) {
      Pair pair = connected();
      byte[] data = random(MUCH);
      int written = fill(pair.client(), data, size);
      pair.client().close();
      assertEquals(written, readBeginning(pair.server(), data));
    }
  }

  @Test
  void closeAfterTheEndOfTheStreamDeliversBufferedBytes() throws Exception {
    Pair pair = connected();
    byte[] data = random(MUCH);
    int written = fill(pair.client(), data, MUCH);
    pair.client().shutdownOutput();
    pair.client().close();
    assertEquals(written, readBeginning(pair.server(), data));
  }

  @Test
  void abortDropsBufferedBytes() throws Exception {
    Pair pair = connected();
    byte[] data = random(MUCH);
    int written = fill(pair.client(), data, MUCH);
    pair.client().setOption(StandardSocketOptions.SO_LINGER, 0);
    pair.client().close();
    assertReset(pair.server(), Arrays.copyOf(data, written));
  }

  /** The bytes that wait are sent beside a thread that waits for the peer. */
  @Test
  void bufferedBytesArriveBesideAWaitingReader() throws Exception {
    Pair pair = connected();
    byte[] data = random(MUCH);
    int written = fill(pair.client(), data, MUCH);
    var read = inBackground(() -> pair.client().read(ByteBuffer.allocate(10)));
    letItWait();
    ByteBuffer target = ByteBuffer.allocate(written);
    readFully(pair.server(), target);
    assertArrayEquals(Arrays.copyOf(data, written), target.array());
    pair.server().write(ByteBuffer.allocate(10));
    assertEquals(10, read.get());
  }

  @Test
  void writableAgainWhenThePeerReads() throws Exception {
    Pair pair = connected();
    byte[] data = random(MUCH);
    ByteBuffer source = direct(data).position(fill(pair.client(), data, MUCH));
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_WRITE);
    var written =
        inBackground(
            () -> {
              while (source.hasRemaining()) {
                if (pair.client().write(source) == 0) {
                  assertEquals(1, selector.select());
                  assertTrue(key.isWritable());
                  selector.selectedKeys().clear();
                }
              }
              pair.client().shutdownOutput();
              return null;
            });
    assertEquals(MUCH, readBeginning(pair.server(), data));
    written.get();
  }

  @Test
  void shutdownAndCloseEndAWaitingWrite() throws Exception {
    byte[] data = random(MUCH);
    for (boolean isShut : new boolean[] {true, false}) {
      Pair pair = connected();
      ByteBuffer source = direct(data);
      var write = inBackground(() -> pair.client().write(source));
      letItWait();
      if (isShut) {
        pair.client().shutdownOutput();
      } else {
        pair.client().close();
      }
      await(write);
      int received = readBeginning(pair.server(), data);
      assertTrue(received >= source.position(), () -> received + " of " + source.position());
    }
  }

  /** A selection that finds a full channel writable is followed by a write that is accepted. */
  @Test
  void singleBytesGoOnAsThePeerReads() throws Exception {
    byte[] data = random(MUCH);
    Pair pair = connected();
    ByteBuffer source = direct(data).position(fill(pair.client(), data, 50));
    int end = source.position() + 30_000;
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_WRITE);
    assertEquals(0, selector.selectNow(), "full");
    var written =
        inBackground(
            () -> {
              int selections = 0;
              while (source.position() < end) {
                if (!writeMore(pair.client(), source, 1)) {
                  assertEquals(1, selector.select());
                  assertTrue(key.isWritable());
                  selector.selectedKeys().clear();
                  selections++;
                  assertTrue(writeMore(pair.client(), source, 1), "writable");
                }
              }
              pair.client().shutdownOutput();
              return selections;
            });
    ByteBuffer target = ByteBuffer.allocate(end + 1);
    for (int size = 1; readUpTo(pair.server(), target, size) >= 0; size = size % 3000 + 1) {
      if (size % 500 == 0) {
        letItWait();
      }
    }
    assertArrayEquals(Arrays.copyOf(data, end), bytes(target));
    int selections = written.get();
    assertTrue(selections < end / 100, () -> selections + " selections");
  }

  @Test
  void lingeringCloseEndsAlthoughThePeerDoesNotRead() throws Exception {
    for (int size : new int[] {50, MUCH}) {
      Pair pair = connected();
      byte[] data = random(MUCH);
      int written = fill(pair.client(), data, size);
      pair.client().setOption(StandardSocketOptions.SO_LINGER, 1);
      pair.client().close();
      assertEquals(written, readBeginning(pair.server(), data), "the peer reads later");
    }
  }
}
