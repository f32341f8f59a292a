package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** How selectors behave, whichever the provider is. */
abstract class SelectorBehaviour extends ConnectingBehaviour {
  @Test
  void registrationsAreChecked() throws Exception {
    Selector selector = selector();
    SocketChannel channel = closing(provider().openSocketChannel());
    assertThrows(
        IllegalBlockingModeException.class, () -> channel.register(selector, SelectionKey.OP_READ));
    channel.configureBlocking(false);
    assertThrows(
        IllegalArgumentException.class, () -> channel.register(selector, SelectionKey.OP_ACCEPT));
    SelectionKey key = channel.register(selector, SelectionKey.OP_READ, "first");
    assertThrows(IllegalBlockingModeException.class, () -> channel.configureBlocking(true));
    assertThrows(IllegalArgumentException.class, () -> key.interestOps(SelectionKey.OP_ACCEPT));
    assertSame(key, channel.register(selector, SelectionKey.OP_CONNECT, "second"));
    assertEquals("second", key.attachment());
    assertEquals(SelectionKey.OP_CONNECT, key.interestOps());
    assertEquals(SelectionKey.OP_CONNECT, key.interestOpsOr(SelectionKey.OP_READ));
    assertEquals(
        SelectionKey.OP_CONNECT | SelectionKey.OP_READ, key.interestOpsAnd(SelectionKey.OP_READ));
    assertSame(key, channel.keyFor(selector));
    assertSame(channel, key.channel());
    assertSame(selector, key.selector());
    assertEquals(Set.of(key), selector.keys());
    key.cancel();
    assertFalse(key.isValid());
    assertThrows(CancelledKeyException.class, key::interestOps);
    assertThrows(CancelledKeyException.class, key::readyOps);
    assertThrows(
        CancelledKeyException.class, () -> channel.register(selector, SelectionKey.OP_READ));
    selector.selectNow();
    assertFalse(channel.isRegistered());
    assertEquals(Set.of(), selector.keys());
    assertTrue(channel.register(selector, 0).isValid());
  }

  @Test
  void setsOfKeysAreNotAddedTo() throws Exception {
    Selector selector = selector();
    SocketChannel channel = closing(provider().openSocketChannel());
    channel.configureBlocking(false);
    SelectionKey key = channel.register(selector, 0);
    assertThrows(UnsupportedOperationException.class, () -> selector.selectedKeys().add(key));
    assertThrows(UnsupportedOperationException.class, () -> selector.keys().remove(key));
  }

  @Test
  void channelsOfOtherProvidersAreNotRegistered() throws Exception {
    Selector selector = selector();
    Selector other =
        provider().equals(SelectorProvider.provider())
            ? closing(RdmaSelectorProvider.provider().openSelector())
            : closing(Selector.open());
    SocketChannel channel = closing(provider().openSocketChannel());
    channel.configureBlocking(false);
    if (provider() instanceof HybridSelectorProvider) {
      channel.register(other, 0); // A selector of the same package, which is for all channels.
      return;
    }
    assertThrows(IllegalSelectorException.class, () -> channel.register(other, 0));
    if (!provider().equals(SelectorProvider.provider())) {
      Pipe pipe = Pipe.open();
      closing(pipe.source()).configureBlocking(false);
      closing(pipe.sink());
      assertThrows(IllegalSelectorException.class, () -> pipe.source().register(selector, 0));
    }
  }

  /** The descriptor is writable as long as it is connected: a selection must not wait in a loop. */
  @Test
  void connectedChannelIsNotConnectable() throws Exception {
    Selector selector = selector();
    SocketChannel client = connected().client();
    client.configureBlocking(false);
    SelectionKey key = client.register(selector, SelectionKey.OP_CONNECT);
    assertEquals(0, isTcp() ? selector.select() : selector.selectNow());
    assertEquals(0, key.readyOps());
  }

  @Test
  void selectTimesOut() throws Exception {
    Selector selector = selector();
    long start = System.nanoTime();
    assertEquals(0, selector.select(50));
    assertTrue(System.nanoTime() - start >= 49_000_000);
    assertEquals(0, selector.selectNow());
    assertThrows(IllegalArgumentException.class, () -> selector.select(-1));
  }

  @Test
  void selectTimesOutBesideConnections() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    pair.client().register(selector, SelectionKey.OP_READ);
    for (int i = 0; i < 5; i++) {
      assertEquals(0, selector.select(20));
    }
    pair.server().write(ByteBuffer.allocate(1));
    assertEquals(1, selector.select());
  }

  @Test
  void selectionsOfVirtualThreadsLeaveTheirCarriers() throws Exception {
    List<Selector> selectors = new ArrayList<>();
    List<FutureTask<Integer>> selections = new ArrayList<>();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors() + 1; i++) {
      Selector selector = selector();
      selectors.add(selector);
      FutureTask<Integer> selection = new FutureTask<>(selector::select);
      selections.add(selection);
      Thread.ofVirtual().start(selection);
    }
    letItWait();
    FutureTask<Void> wakeups =
        new FutureTask<>(
            () -> {
              selectors.forEach(Selector::wakeup);
              return null;
            });
    Thread.ofVirtual().start(wakeups);
    wakeups.get();
    for (FutureTask<Integer> selection : selections) {
      assertEquals(0, selection.get());
    }
  }

  @Test
  void interruptEndsASelectionOfAVirtualThread() throws Exception {
    Selector selector = selector();
    FutureTask<Boolean> select =
        new FutureTask<>(
            () -> {
              selector.select();
              return Thread.currentThread().isInterrupted();
            });
    Thread thread = Thread.ofVirtual().start(select);
    letItWait();
    thread.interrupt();
    assertTrue(select.get());
    assertTrue(selector.isOpen());
  }

  @Test
  void wakeupEndsTheNextSelection() throws Exception {
    Selector selector = selector();
    assertSame(selector, selector.wakeup());
    selector.wakeup();
    assertEquals(0, selector.select());
    long start = System.nanoTime();
    assertEquals(0, selector.select(30));
    assertTrue(System.nanoTime() - start >= 29_000_000, "a second selection is not woken");
  }

  @Test
  void wakeupEndsAWaitingSelection() throws Exception {
    Selector selector = selector();
    var select = inBackground(() -> selector.select());
    letItWait();
    selector.wakeup();
    assertEquals(0, select.get());
  }

  @Test
  void manyWakeupsFromManyThreads() throws Exception {
    Selector selector = selector();
    List<FutureTask<Void>> wakers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      wakers.add(
          inBackground(
              () -> {
                for (int j = 0; j < 1000; j++) {
                  selector.wakeup();
                }
                return null;
              }));
    }
    while (!wakers.stream().allMatch(FutureTask::isDone)) {
      assertEquals(0, selector.select(100));
    }
    selector.selectNow();
    assertEquals(0, selector.selectNow());
  }

  @Test
  void wakeupsBesideDataLoseNothing() throws Exception {
    Pair pair = connected();
    pair.server().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.server().register(selector, SelectionKey.OP_READ);
    byte[] sent = random(1000);
    var written =
        inBackground(
            () -> {
              for (byte value : sent) {
                pair.client().write(ByteBuffer.wrap(new byte[] {value}));
              }
              return sent.length;
            });
    var storm =
        inBackground(
            () -> {
              while (!written.isDone()) {
                selector.wakeup();
                key.interestOps(SelectionKey.OP_READ);
              }
              return null;
            });
    ByteBuffer received = ByteBuffer.allocate(sent.length);
    while (received.hasRemaining()) {
      selector.select();
      selector.selectedKeys().clear();
      assertTrue(pair.server().read(received) >= 0);
    }
    assertArrayEquals(sent, received.array());
    assertEquals(sent.length, written.get());
    storm.get();
  }

  @Test
  void interruptEndsASelection() throws Exception {
    Selector selector = selector();
    FutureTask<Boolean> select =
        new FutureTask<>(
            () -> {
              selector.select();
              return Thread.currentThread().isInterrupted();
            });
    Thread thread = Thread.ofPlatform().daemon().start(select);
    letItWait();
    thread.interrupt();
    assertTrue(select.get());
    assertTrue(selector.isOpen());
  }

  @Test
  void closedSelectorThrows() throws Exception {
    Selector selector = selector();
    SocketChannel channel = closing(provider().openSocketChannel());
    channel.configureBlocking(false);
    SelectionKey key = channel.register(selector, SelectionKey.OP_CONNECT);
    selector.close();
    selector.close();
    assertFalse(key.isValid());
    assertFalse(channel.isRegistered());
    assertThrows(ClosedSelectorException.class, selector::select);
    assertThrows(ClosedSelectorException.class, selector::selectNow);
    assertThrows(ClosedSelectorException.class, selector::keys);
    assertThrows(ClosedSelectorException.class, selector::selectedKeys);
    assertThrows(
        ClosedSelectorException.class, () -> channel.register(selector, SelectionKey.OP_READ));
    selector.wakeup();
  }

  @Test
  void closingTheSelectorEndsASelection() throws Exception {
    Selector selector = selector();
    var select =
        inBackground(
            () -> {
              try {
                return selector.select();
              } catch (ClosedSelectorException e) {
                return 0;
              }
            });
    letItWait();
    selector.close();
    assertEquals(0, select.get());
  }

  @Test
  void readyChannelIsSelectedOnce() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    pair.server().write(ByteBuffer.allocate(1));
    assertEquals(1, selector.select());
    assertEquals(Set.of(key), selector.selectedKeys());
    assertEquals(SelectionKey.OP_READ, key.readyOps());
    assertEquals(0, selector.selectNow(), "its ready set has not changed");
    key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
    assertEquals(1, selector.selectNow(), "it is writable, too");
    assertEquals(SelectionKey.OP_READ | SelectionKey.OP_WRITE, key.readyOps());
    selector.selectedKeys().clear();
    key.interestOps(0);
    assertEquals(0, selector.selectNow());
    key.interestOps(SelectionKey.OP_READ);
    assertEquals(1, selector.selectNow());
    pair.client().read(ByteBuffer.allocate(10));
    selector.selectedKeys().remove(key);
    assertEquals(0, selector.selectNow());
  }

  @Test
  void selectionReturnsBesideAKeyThatWasLeftInTheSet() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    pair.server().write(ByteBuffer.allocate(1));
    assertEquals(1, selector.select());
    assertEquals(0, selector.select());
    assertEquals(Set.of(key), selector.selectedKeys());
  }

  @Test
  void actionIsCalledForSelectedKeys() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    pair.server().write(ByteBuffer.allocate(1));
    List<SelectionKey> selected = new ArrayList<>();
    assertEquals(1, selector.select(selected::add));
    assertEquals(List.of(key), selected);
    assertEquals(1, selector.selectNow(selected::add));
    pair.client().read(ByteBuffer.allocate(1));
    assertEquals(0, selector.select(selected::add, 20));
  }

  /** Registers channels that have a byte to read with a selector. */
  private List<SelectionKey> readable(Selector selector, int count) throws Exception {
    List<SelectionKey> keys = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Pair pair = connected();
      pair.client().configureBlocking(false);
      keys.add(pair.client().register(selector, SelectionKey.OP_READ));
      pair.server().write(ByteBuffer.allocate(1));
    }
    for (SelectionKey key : keys) { // All of them have arrived.
      try (Selector other = provider().openSelector()) {
        key.channel().register(other, SelectionKey.OP_READ);
        assertEquals(1, other.select());
      }
    }
    return keys;
  }

  @Test
  void actionsLeaveTheSelectedSetAlone() throws Exception {
    Selector selector = selector();
    SelectionKey key = readable(selector, 1).getFirst();
    assertEquals(1, selector.select(k -> assertSame(key, k)));
    assertEquals(Set.of(), selector.selectedKeys());
    assertEquals(1, selector.select());
    assertEquals(Set.of(key), selector.selectedKeys());
    key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
    for (int i = 0; i < 2; i++) {
      List<Integer> ready = new ArrayList<>();
      assertEquals(1, selector.select(k -> ready.add(k.readyOps()), 1000));
      assertEquals(List.of(SelectionKey.OP_READ | SelectionKey.OP_WRITE), ready);
      assertEquals(Set.of(key), selector.selectedKeys());
    }
    key.interestOps(SelectionKey.OP_WRITE);
    assertEquals(1, selector.selectNow(k -> assertEquals(SelectionKey.OP_WRITE, k.readyOps())));
    assertEquals(Set.of(key), selector.selectedKeys());
  }

  @Test
  void actionIsCalledOnceForEachKey() throws Exception {
    Selector selector = selector();
    Set<SelectionKey> keys = Set.copyOf(readable(selector, 3));
    for (int i = 0; i < 3; i++) {
      List<SelectionKey> consumed = new ArrayList<>();
      assertEquals(3, selector.select(consumed::add));
      assertEquals(3, consumed.size());
      assertEquals(keys, Set.copyOf(consumed));
    }
  }

  @Test
  void actionsAreChecked() throws Exception {
    Selector selector = selector();
    assertThrows(NullPointerException.class, () -> selector.select(null));
    assertThrows(NullPointerException.class, () -> selector.select(null, 10));
    assertThrows(NullPointerException.class, () -> selector.selectNow(null));
    assertThrows(IllegalArgumentException.class, () -> selector.select(key -> {}, -1));
    selector.wakeup();
    assertEquals(0, selector.select(key -> {}));
    selector.close();
    assertThrows(ClosedSelectorException.class, () -> selector.select(key -> {}));
    assertThrows(ClosedSelectorException.class, () -> selector.select(key -> {}, 10));
    assertThrows(ClosedSelectorException.class, () -> selector.selectNow(key -> {}));
  }

  @Test
  void exceptionOfAnActionIsThrownAndNoKeyIsLost() throws Exception {
    Selector selector = selector();
    Set<SelectionKey> keys = Set.copyOf(readable(selector, 3));
    List<SelectionKey> consumed = new ArrayList<>();
    IllegalStateException failure = new IllegalStateException("for the test");
    assertSame(
        failure,
        assertThrows(
            IllegalStateException.class,
            () ->
                selector.select(
                    key -> {
                      consumed.add(key);
                      throw failure;
                    })));
    assertEquals(1, consumed.size());
    consumed.clear();
    assertEquals(3, selector.select(consumed::add));
    assertEquals(keys, Set.copyOf(consumed));
  }

  @Test
  void actionMayCloseTheSelector() throws Exception {
    Selector selector = selector();
    List<SelectionKey> keys = readable(selector, 2);
    List<SelectionKey> consumed = new ArrayList<>();
    assertThrows(
        ClosedSelectorException.class,
        () ->
            selector.select(
                key -> {
                  consumed.add(key);
                  try {
                    selector.close();
                  } catch (IOException e) {
                    throw new AssertionError(e);
                  }
                }));
    assertEquals(1, consumed.size());
    assertFalse(keys.getFirst().isValid() || keys.getLast().isValid());
    assertFalse(keys.getFirst().channel().isRegistered());
  }

  @Test
  void actionMayCancelRegisterAndWakeUp() throws Exception {
    Selector selector = selector();
    SelectionKey key = readable(selector, 1).getFirst();
    SocketChannel other = connected().client();
    other.configureBlocking(false);
    assertEquals(
        1,
        selector.select(
            k -> {
              k.cancel();
              try {
                other.register(selector, SelectionKey.OP_WRITE);
              } catch (IOException e) {
                throw new AssertionError(e);
              }
              selector.wakeup();
            }));
    assertEquals(Set.of(key, other.keyFor(selector)), selector.keys(), "until the next selection");
    List<SelectionKey> consumed = new ArrayList<>();
    assertEquals(1, selector.select(consumed::add));
    assertEquals(List.of(other.keyFor(selector)), consumed);
    assertEquals(Set.of(other.keyFor(selector)), selector.keys());
    assertFalse(key.channel().isRegistered());
    other.close();
    selector.wakeup();
    assertEquals(0, selector.select(consumed::add));
  }

  @Test
  void cancelledKeysAreNotConsumed() throws Exception {
    Selector selector = selector();
    List<SelectionKey> keys = readable(selector, 2);
    keys.getFirst().cancel();
    List<SelectionKey> consumed = new ArrayList<>();
    assertEquals(1, selector.select(consumed::add));
    assertEquals(List.of(keys.getLast()), consumed);
  }

  @Test
  void actionDoesNotSelect() throws Exception {
    Selector selector = selector();
    SelectionKey key = readable(selector, 1).getFirst();
    assertThrows(
        IllegalStateException.class,
        () ->
            selector.select(
                k -> {
                  try {
                    selector.selectNow();
                  } catch (IOException e) {
                    throw new AssertionError(e);
                  }
                }));
    assertEquals(1, selector.selectNow());
    assertEquals(Set.of(key), selector.selectedKeys());
  }

  @Test
  void wakeupDuringAnActionEndsTheNextSelection() throws Exception {
    Selector selector = selector();
    SelectionKey key = readable(selector, 1).getFirst();
    assertEquals(
        1,
        selector.select(
            k -> {
              selector.wakeup();
              k.interestOps(0);
            }));
    assertEquals(0, selector.select(k -> {}));
    var select = inBackground(() -> selector.select(k -> assertSame(key, k)));
    letItWait();
    assertFalse(select.isDone());
    key.interestOps(SelectionKey.OP_READ);
    selector.wakeup();
    await(select);
    assertEquals(1, selector.select(k -> assertSame(key, k)));
  }

  @Test
  void oneChannelHasSeveralSelectors() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector readable = selector();
    Selector writable = selector();
    pair.client().register(readable, SelectionKey.OP_READ);
    pair.client().register(writable, SelectionKey.OP_WRITE);
    var waiting = inBackground(() -> readable.select());
    assertEquals(1, writable.select());
    letItWait();
    pair.server().write(ByteBuffer.allocate(1));
    assertEquals(1, waiting.get());
  }

  @Test
  void endOfTheStreamIsReadable() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    var select = inBackground(() -> selector.select());
    letItWait();
    pair.server().close();
    assertEquals(1, select.get());
    assertTrue(key.isReadable());
    assertEquals(-1, pair.client().read(ByteBuffer.allocate(1)));
  }

  @Test
  void closeOfARegisteredChannelReachesThePeer() throws Exception {
    Pair pair = connected();
    pair.client().configureBlocking(false);
    Selector selector = selector();
    SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
    var select = inBackground(() -> selector.select());
    letItWait();
    pair.client().close();
    assertFalse(key.isValid());
    assertEquals(-1, pair.server().read(ByteBuffer.allocate(1)));
    selector.wakeup();
    select.get();
    assertEquals(0, selector.selectNow());
    assertEquals(Set.of(), selector.keys());
  }

  @Test
  void manyChannelsAreServedByOneSelector() throws Exception {
    int count = 10;
    List<Pair> pairs = new ArrayList<>();
    Selector selector = selector();
    for (int i = 0; i < count; i++) {
      Pair pair = connected();
      pairs.add(pair);
      pair.server().configureBlocking(false);
      pair.server().register(selector, SelectionKey.OP_READ, i);
    }
    var sent =
        inBackground(
            () -> {
              for (Pair pair : pairs) {
                pair.client().write(ByteBuffer.allocate(100));
              }
              return null;
            });
    int[] received = new int[count];
    int total = 0;
    while (total < 100 * count) {
      selector.select();
      for (SelectionKey key : selector.selectedKeys()) {
        int read = ((SocketChannel) key.channel()).read(ByteBuffer.allocate(64));
        received[(int) key.attachment()] += read;
        total += read;
      }
      selector.selectedKeys().clear();
    }
    sent.get();
    for (int bytes : received) {
      assertEquals(100, bytes);
    }
  }
}
