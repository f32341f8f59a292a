package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import org.junit.jupiter.api.Test;

/** How channels transfer data, and how streams end, whichever the provider is. */
abstract class StreamBehaviour extends SendBufferBehaviour {
  @Test
  void directBuffersArrive() throws Exception {
    Pair pair = connected();
    byte[] sent = random(100_000);
    var written = inBackground(() -> pair.client().write(direct(sent)));
    ByteBuffer received = ByteBuffer.allocateDirect(sent.length);
    readFully(pair.server(), received);
    assertArrayEquals(sent, bytes(received));
    assertEquals(sent.length, written.get());
  }

  @Test
  void heapBuffersArrive() throws Exception {
    Pair pair = connected();
    byte[] sent = random(1_000_000);
    ByteBuffer source = ByteBuffer.wrap(sent, 10, sent.length - 10).slice();
    var written = inBackground(() -> pair.server().write(source));
    ByteBuffer received = ByteBuffer.allocate(sent.length).position(10);
    readFully(pair.client(), received);
    assertArrayEquals(
        java.util.Arrays.copyOfRange(sent, 10, sent.length),
        java.util.Arrays.copyOfRange(received.array(), 10, sent.length));
    assertEquals(sent.length - 10, written.get());
    assertFalse(source.hasRemaining());
  }

  @Test
  void bothDirectionsAtOnce() throws Exception {
    Pair pair = connected();
    byte[] sent = random(4 << 20);
    var there = inBackground(() -> pair.client().write(direct(sent)));
    var back = inBackground(() -> pair.server().write(direct(sent)));
    ByteBuffer atClient = ByteBuffer.allocateDirect(sent.length);
    var read =
        inBackground(
            () -> {
              readFully(pair.client(), atClient);
              return null;
            });
    ByteBuffer atServer = ByteBuffer.allocateDirect(sent.length);
    readFully(pair.server(), atServer);
    read.get();
    assertEquals(sent.length, there.get());
    assertEquals(sent.length, back.get());
    assertArrayEquals(sent, bytes(atServer));
    assertArrayEquals(sent, bytes(atClient));
  }

  @Test
  void buffersAreGatheredAndScattered() throws Exception {
    Pair pair = connected();
    ByteBuffer[] sources = {
      ByteBuffer.wrap(random(1000)), ByteBuffer.allocate(0), direct(random(3000)).position(500)
    };
    assertEquals(3500, pair.client().write(sources));
    assertFalse(sources[0].hasRemaining() || sources[2].hasRemaining());
    ByteBuffer first = ByteBuffer.allocateDirect(700);
    ByteBuffer second = ByteBuffer.allocate(2800);
    long count = 0;
    while (count < 3500) {
      count += pair.server().read(new ByteBuffer[] {first, second}, 0, 2);
    }
    byte[] expected = new byte[3500];
    sources[0].get(0, expected, 0, 1000);
    sources[2].get(500, expected, 1000, 2500);
    byte[] received = new byte[3500];
    first.get(0, received, 0, 700);
    second.get(0, received, 700, 2800);
    assertArrayEquals(expected, received);
  }

  @Test
  void manyLargeBuffersAreGathered() throws Exception {
    Pair pair = connected();
    byte[] part = random(200_000);
    ByteBuffer[] sources = new ByteBuffer[10];
    for (int i = 0; i < sources.length; i++) {
      sources[i] = i % 2 == 0 ? ByteBuffer.wrap(part) : direct(part);
    }
    var written =
        inBackground(
            () -> {
              long total = 0;
              while (sources[9].hasRemaining()) {
                total += pair.client().write(sources);
              }
              return total;
            });
    ByteBuffer received = ByteBuffer.allocateDirect(10 * part.length);
    readFully(pair.server(), received);
    assertEquals(10L * part.length, written.get());
    byte[] all = bytes(received);
    for (int i = 0; i < 10; i++) {
      assertArrayEquals(
          part, java.util.Arrays.copyOfRange(all, i * part.length, (i + 1) * part.length));
    }
  }

  @Test
  void emptyBuffersTransferNothing() throws Exception {
    Pair pair = connected();
    assertEquals(0, pair.client().write(ByteBuffer.allocate(0)));
    assertEquals(0, pair.client().write(new ByteBuffer[] {ByteBuffer.allocate(0)}));
    assertEquals(0, pair.client().write(new ByteBuffer[0]));
    assertEquals(0, pair.client().read(ByteBuffer.allocate(0)));
    assertEquals(0, pair.client().read(new ByteBuffer[0]));
  }

  @Test
  void nonBlockingReadReturnsZero() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    assertEquals(0, pair.client().read(ByteBuffer.allocate(10)));
    assertEquals(0, pair.client().read(new ByteBuffer[] {ByteBuffer.allocate(10)}));
  }

  @Test
  void nonBlockingWriteReturnsZeroWhenFull() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    ByteBuffer source = ByteBuffer.allocateDirect(1 << 16);
    long sent = 0;
    while (true) {
      int count = pair.client().write(source.clear());
      sent += count;
      if (count == 0) {
        letItWait(); // The peer's system may still take some.
        count = pair.client().write(source.clear());
        sent += count;
        if (count == 0) {
          break;
        }
      }
    }
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_WRITE);
    assertEquals(0, selector.selectNow());
    ByteBuffer target = ByteBuffer.allocateDirect(1 << 16);
    for (long received = 0; received < sent; ) {
      received += pair.server().read(target.clear());
    }
    assertEquals(1, selector.select());
    assertTrue(key.isWritable());
    assertTrue(pair.client().write(source.clear()) > 0);
  }

  // The end of a connection

  @Test
  void closeEndsTheStreamOfThePeer() throws Exception {
    Pair pair = connected();
    pair.client().write(ByteBuffer.wrap(random(100)));
    pair.client().close();
    ByteBuffer target = ByteBuffer.allocate(100);
    readFully(pair.server(), target);
    assertEquals(-1, pair.server().read(target.clear()));
    assertEquals(-1, pair.server().read(new ByteBuffer[] {target.clear()}));
  }

  @Test
  void closeOfANonBlockingChannelEndsTheStreamOfThePeer() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    pair.client().write(ByteBuffer.wrap(random(100)));
    pair.client().close();
    ByteBuffer target = ByteBuffer.allocate(100);
    readFully(pair.server(), target);
    assertEquals(-1, pair.server().read(target.clear()));
  }

  @Test
  void halfClosedConnectionStillReceives() throws Exception {
    Pair pair = connected();
    pair.client().write(ByteBuffer.wrap(random(10)));
    pair.client().shutdownOutput();
    pair.client().shutdownOutput(); // Without effect.
    assertThrows(ClosedChannelException.class, () -> pair.client().write(ByteBuffer.allocate(1)));
    ByteBuffer target = ByteBuffer.allocate(10);
    readFully(pair.server(), target);
    assertEquals(-1, pair.server().read(target.clear()));
    pair.server().write(ByteBuffer.wrap(random(10)));
    readFully(pair.client(), target.clear());
    assertArrayEquals(random(10), target.array());
    assertTrue(pair.client().isConnected());
  }

  @Test
  void shutdownOutputBesideAWaitingReader() throws Exception {
    Pair pair = connected();
    ByteBuffer target = ByteBuffer.allocate(10);
    var read = inBackground(() -> pair.client().read(target));
    letItWait();
    pair.client().shutdownOutput();
    assertEquals(-1, pair.server().read(ByteBuffer.allocate(1)));
    pair.server().write(ByteBuffer.wrap(random(10)));
    assertEquals(10, read.get());
  }

  @Test
  void shutInputReadsNothing() throws Exception {
    Pair pair = connected();
    pair.client().shutdownInput();
    assertEquals(-1, pair.client().read(ByteBuffer.allocate(1)));
    assertEquals(-1, pair.client().read(ByteBuffer.allocate(0)));
    pair.client().write(ByteBuffer.wrap(random(10)));
    ByteBuffer target = ByteBuffer.allocate(10);
    readFully(pair.server(), target);
  }

  /** By events: the end that has shut its input calls nothing. The buffers of TCP have room. */
  @Test
  void writesToAShutInputGoOn() throws Exception {
    Pair pair = connected();
    pair.server().shutdownInput();
    assertEquals(1 << 20, pair.client().write(ByteBuffer.allocateDirect(1 << 20)));
    assertEquals(-1, pair.server().read(ByteBuffer.allocate(1)));
    pair.server().write(ByteBuffer.wrap(random(10)));
    readFully(pair.client(), ByteBuffer.allocate(10));
  }

  @Test
  void shutdownInputEndsAWaitingRead() throws Exception {
    Pair pair = connected();
    var read = inBackground(() -> pair.client().read(ByteBuffer.allocate(1)));
    letItWait();
    pair.client().shutdownInput();
    assertEquals(-1, read.get());
  }

  @Test
  void bothHalfClosedConnectionsDeliverAll() throws Exception {
    for (int round = 0; round < 20; round++) {
      try (Pair pair = connected()) {
        pair.client().write(ByteBuffer.wrap(random(1000)));
        pair.server().write(ByteBuffer.wrap(random(1000)));
        pair.client().shutdownOutput();
        pair.server().shutdownOutput();
        pair.server().shutdownInput();
        pair.server().close();
        assertArrayEquals(random(1000), readAll(pair.client()));
      }
    }
  }

  private static byte[] readAll(SocketChannel channel) throws IOException {
    ByteBuffer target = ByteBuffer.allocate(1 << 20);
    while (channel.read(target) >= 0) {
      assertTrue(target.hasRemaining(), "more than was written");
    }
    return bytes(target);
  }

  @Test
  void abortIsAResetAfterWhatHasArrived() throws Exception {
    for (int size : new int[] {0, 1, 1000, 60_000}) {
      Pair pair = connected();
      pair.client().write(ByteBuffer.wrap(random(size)));
      pair.client().setOption(StandardSocketOptions.SO_LINGER, 0);
      pair.client().close();
      assertReset(pair.server(), random(size));
    }
  }

  @Test
  void scatteringReadReturnsWhatHasArrivedBeforeAReset() throws Exception {
    Pair pair = connected();
    pair.client().write(ByteBuffer.wrap(random(11)));
    readFully(pair.server(), ByteBuffer.allocate(1)); // All has arrived: an abort can discard data.
    pair.client().setOption(StandardSocketOptions.SO_LINGER, 0);
    pair.client().close();
    pair.server().configureBlocking(false);
    letItWait(); // The reset follows the data.
    ByteBuffer[] targets = {ByteBuffer.allocate(10), ByteBuffer.allocate(10)};
    assertEquals(10, pair.server().read(targets));
    assertReset(pair.server(), new byte[0]);
  }

  @Test
  void closeWithUnreadDataIsAReset() throws Exception {
    Pair pair = connected();
    pair.server().write(ByteBuffer.wrap(random(1000)));
    ByteBuffer target = ByteBuffer.allocate(10);
    readFully(pair.client(), target);
    pair.client().close();
    assertReset(pair.server(), new byte[0]);
  }

  @Test
  void resetEndsAWaitingReadAndASelection() throws Exception {
    Pair pair = connected();
    var read = inBackground(() -> pair.server().read(ByteBuffer.allocate(1)));
    letItWait();
    pair.client().setOption(StandardSocketOptions.SO_LINGER, 0);
    pair.client().close();
    causeOf(SocketException.class, read);
    Selector selector = selector();
    pair.server().configureBlocking(false);
    SelectionKey key = pair.server().register(selector, SelectionKey.OP_READ);
    assertEquals(1, selector.select());
    assertTrue(key.isReadable());
    assertReset(pair.server(), new byte[0]);
  }

  @Test
  void writeToAClosedPeerFails() throws Exception {
    Pair pair = connected();
    pair.server().close();
    ByteBuffer source = ByteBuffer.allocateDirect(1 << 16);
    assertThrows(
        IOException.class,
        () -> {
          while (true) {
            pair.client().write(source.clear());
          }
        });
  }
}
