package dev.verbena.messages;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One-sided rings, over a good network and a bad one, beside peers that do not keep to them. */
@Tag("host")
class RingTest {
  static final long CAPACITY = 1024;

  private final SoftNetwork network = SoftNetwork.create();
  private final RingEnd a = new RingEnd(network.addDevice("soft0"));
  private final RingEnd b = new RingEnd(network.addDevice("soft1"));
  private final RingWriter writer = RingWriter.allocate(a.domain, CAPACITY);
  private final List<String> arrived = new ArrayList<>();

  @AfterEach
  void close() {
    a.context.close();
    b.context.close();
    network.close();
  }

  private void connect() {
    var addressOfB = b.queuePair.localAddress();
    b.queuePair.connect(a.queuePair.localAddress());
    a.queuePair.connect(addressOfB);
  }

  private void attach(RemoteMemory ring) throws InterruptedException {
    writer.attach(a.queuePair, a.completions, ring, Await.LIMIT);
  }

  private RingReader connectedReader() throws InterruptedException {
    connect();
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    attach(reader.memory());
    return reader;
  }

  private static MemorySegment text(String text) {
    return MemorySegment.ofArray(text.getBytes(US_ASCII));
  }

  private void take(MemorySegment memory, long offset, int length) {
    assertTrue(memory.isReadOnly());
    byte[] bytes = memory.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    arrived.add(new String(bytes, US_ASCII));
  }

  private void offer(String text) throws InterruptedException {
    assertTrue(writer.offer(text(text)));
    assertTrue(writer.awaitWritten(Await.LIMIT));
  }

  @Test
  void messagesArriveWholeAndInOrder() throws Exception {
    RingReader reader = connectedReader();
    assertFalse(reader.await(Duration.ZERO));
    assertEquals(0, reader.poll(this::take, 1));
    for (String text : List.of("one", "", "three")) {
      assertTrue(writer.offer(text(text)));
    }
    assertFalse(reader.await(Duration.ZERO), "nothing is written before flush");
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertTrue(reader.await(Duration.ZERO));
    assertEquals(2, reader.poll(this::take, 2));
    assertEquals(1, reader.poll(this::take, 2));
    assertEquals(List.of("one", "", "three"), arrived);
    assertEquals(writer.position(), reader.position());
    assertTrue(writer.toString().startsWith("writer of a ring of 1024 bytes from memory region"));
    assertTrue(reader.toString().startsWith("ring of 1024 bytes in memory region"));
  }

  @Test
  void aMessageThatAHandlerRefusesIsReadAgain() throws Exception {
    RingReader reader = connectedReader();
    offer("one");
    offer("two");
    RingReader.Handler picky =
        (memory, offset, length) -> {
          take(memory, offset, length);
          if (arrived.equals(List.of("one", "two"))) {
            throw new UnsupportedOperationException("two");
          }
        };
    assertThrows(UnsupportedOperationException.class, () -> reader.poll(picky, 9));
    assertEquals(1, reader.poll(picky, 9));
    assertEquals(List.of("one", "two", "two"), arrived);
  }

  @Test
  void aFullRingTakesMoreWhenItWasRead() throws Exception {
    RingReader reader = connectedReader();
    String longest = "x".repeat((int) writer.longestMessage());
    offer(longest);
    offer(longest);
    assertFalse(writer.offer(text("")));
    assertThrows(IllegalArgumentException.class, () -> writer.offer(text(longest + "x")));
    assertEquals(1, reader.poll(this::take, 1));
    Await.until("room", () -> writer.offer(text(longest)));
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(2, reader.poll(this::take, 3));
    assertEquals(List.of(longest, longest, longest), arrived);
  }

  /** With the padding before it, a message may need nearly all of the ring. */
  @Test
  void theLongestMessageFindsRoomWhereverTheRingHasItsEnd() throws Exception {
    connect();
    RingReader reader = RingReader.allocate(b.domain, CAPACITY, CAPACITY / 2 - 8);
    attach(reader.memory());
    offer("");
    offer("");
    assertEquals(2, reader.poll(this::take, 3));
    String longest = "x".repeat((int) writer.longestMessage());
    Await.until("room", () -> writer.offer(text(longest)));
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(1, reader.poll(this::take, 1));
    assertEquals(List.of("", "", longest), arrived);
  }

  @Test
  void badArgumentsThrow() throws Exception {
    for (long capacity : new long[] {0, -1, 32, 96, 1L << 31, Long.MIN_VALUE}) {
      assertThrows(IllegalArgumentException.class, () -> RingReader.allocate(b.domain, capacity));
      assertThrows(IllegalArgumentException.class, () -> RingWriter.allocate(a.domain, capacity));
    }
    for (long position : new long[] {-8, 4, (1L << 62) + 8}) {
      assertThrows(
          IllegalArgumentException.class, () -> RingReader.allocate(b.domain, 64, position));
    }
    RingReader reader = connectedReader();
    assertThrows(IllegalArgumentException.class, () -> reader.poll(this::take, 0));
    assertThrows(NullPointerException.class, () -> reader.poll(null, 1));
    MemorySegment four = MemorySegment.ofArray(new byte[4]);
    assertThrows(IndexOutOfBoundsException.class, () -> writer.offer(four, 1, 4));
    assertThrows(IndexOutOfBoundsException.class, () -> writer.offer(four, 0, -1));
    assertThrows(IllegalArgumentException.class, () -> attach(RemoteMemory.at(0, 1024, 0)));
    QueuePair small = a.builder(QueuePairType.RC, 1).create();
    if (small.capacity().sendRequests() < 4) {
      assertThrows(
          IllegalArgumentException.class,
          () -> writer.attach(small, a.completions, reader.memory(), Await.LIMIT));
    }
    CompletionQueue three = a.context.createCompletionQueue(3);
    if (three.capacity() < 4) {
      assertThrows(
          IllegalArgumentException.class,
          () -> writer.attach(a.queuePair, three, reader.memory(), Await.LIMIT));
    }
    QueuePair unordered = a.builder(QueuePairType.UC, 16).create();
    assertThrows(
        IllegalArgumentException.class,
        () -> writer.attach(unordered, a.completions, reader.memory(), Await.LIMIT));
    assertEquals(0, writer.position());
    offer("one");
    assertEquals(1, reader.poll(this::take, 1));
  }

  @Test
  void closedEndsThrow() throws Exception {
    RingReader reader = connectedReader();
    reader.close();
    assertThrows(IllegalStateException.class, () -> reader.poll(this::take, 1));
    assertThrows(IllegalStateException.class, () -> reader.await(Duration.ofDays(1)));
    assertTrue(writer.offer(text("one")));
    var failure = assertThrows(WorkRequestException.class, () -> writer.awaitWritten(Await.LIMIT));
    assertEquals(CompletionStatus.REM_ACCESS_ERR, failure.status());
    assertTrue(
        failure.getMessage().startsWith("writing to a ring after position 0: "),
        failure.getMessage());
    assertFalse(writer.flush(), "it is not written");
    assertFalse(writer.awaitWritten(Await.LIMIT), "it waits for another queue pair");
    var full =
        assertThrows(
            IllegalStateException.class,
            () -> {
              while (writer.offer(text("one"))) {} // There is no queue pair.
            });
    assertTrue(full.getMessage().endsWith("attach another one"), full.getMessage());
    writer.close();
    assertThrows(IllegalStateException.class, () -> writer.offer(text("one")));
    assertThrows(IllegalStateException.class, () -> writer.flush());
  }

  /** The exceptions of the JDK say "Already closed", of whatever was closed. */
  @Test
  void anEndThatIsClosedDuringACallIsNamed() throws Exception {
    RingReader reader = connectedReader();
    offer("one");
    offer("two");
    var closed =
        assertThrows(
            IllegalStateException.class, () -> reader.poll((_, _, _) -> reader.close(), 2));
    assertEquals("the ring is closed: " + reader, closed.getMessage());
    assertNamed(reader, () -> reader.poll(this::take, 1));
    assertNamed(reader, () -> reader.await(Duration.ZERO));
    RingReader other = RingReader.allocate(b.domain, CAPACITY, reader.position());
    attach(other.memory());
    assertTrue(writer.offer(text("three")));
    writer.close();
    assertNamed(writer, () -> writer.offer(text("four")));
    assertNamed(writer, writer::flush);
    assertNamed(writer, writer::readerPosition);
    assertNamed(writer, () -> writer.awaitWritten(Duration.ZERO));
  }

  private static void assertNamed(AutoCloseable end, Executable call) {
    var closed = assertThrows(IllegalStateException.class, call);
    assertEquals("the ring is closed: " + end, closed.getMessage());
  }

  @Test
  void aQueuePairOfAnotherDomainIsRefused() throws Exception {
    connect();
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    try (RingWriter foreign = RingWriter.allocate(a.context.allocateProtectionDomain(), CAPACITY)) {
      var refused =
          assertThrows(
              IllegalArgumentException.class,
              () -> foreign.attach(a.queuePair, a.completions, reader.memory(), Await.LIMIT));
      assertTrue(refused.getMessage().contains("Contexts.list()"), refused.getMessage());
    }
  }

  @Test
  void theWriterLearnsWhatWasRead() throws Exception {
    assertEquals(0, writer.readerPosition());
    RingReader reader = connectedReader();
    offer("one");
    offer("two");
    assertEquals(0, writer.readerPosition());
    assertEquals(1, reader.poll(this::take, 1));
    Await.until("the position", () -> writer.readerPosition() == reader.position());
    assertEquals(1, reader.poll(this::take, 1));
    Await.until("the end", () -> writer.readerPosition() == writer.position());
  }

  /** Requests of RDMA read would fill the send queue. */
  @Test
  @InSimulation
  void onlyOneReadOfTheReadersPositionIsUnderWay() throws Exception {
    RingReader reader = connectedReader();
    network.faults().loss(1);
    assertTrue(writer.offer(text("one")));
    for (int i = 0; i < 100; i++) {
      assertEquals(0, writer.readerPosition());
    }
    assertTrue(writer.offer(text("two")));
    assertTrue(writer.flush(), "there is room in the send queue");
    network.faults().loss(0);
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(2, reader.poll(this::take, 3));
  }

  @Test
  void whatASendQueueHasNotTakenIsWrittenLater() throws Exception {
    RingReader reader = connectedReader();
    network.faults().fillQueues("soft0");
    assertTrue(writer.offer(text("one")));
    assertFalse(writer.flush());
    assertFalse(writer.awaitWritten(Duration.ZERO));
    network.faults().freeQueues();
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(1, reader.poll(this::take, 2));
    assertEquals(List.of("one"), arrived);
  }

  /** Of two flushes the first has completed, when what it has published is looked at. */
  @Test
  @InSimulation
  void aFlushThatHasCompletedDoesNotCountForTheNext() throws Exception {
    RingReader reader = connectedReader();
    network.faults().delay(Duration.ofMillis(10));
    assertTrue(writer.offer(text("one")));
    assertTrue(writer.flush());
    Time.sleep(5_000_000);
    assertTrue(writer.offer(text("two")));
    assertTrue(writer.flush());
    assertFalse(
        writer.awaitWritten(Duration.ofMillis(17)), "the answer to the second is under way");
    assertEquals(2, reader.poll(this::take, 3));
    assertTrue(writer.awaitWritten(Await.LIMIT));
  }

  @Test
  void closingTheReaderEndsItsWait() throws Exception {
    RingReader reader = connectedReader();
    FutureTask<Boolean> wait = new FutureTask<>(() -> reader.await(Duration.ofDays(1)));
    Thread.ofPlatform().start(wait);
    Await.pass(Duration.ofMillis(20), "the thread polls");
    reader.close();
    var failure = assertThrows(ExecutionException.class, wait::get);
    assertEquals(IllegalStateException.class, failure.getCause().getClass());
  }

  // Peers that do not keep to the protocol

  @ParameterizedTest
  @ValueSource(longs = {-8, 4, CAPACITY + 8, Long.MAX_VALUE, Long.MIN_VALUE})
  void aCounterOutsideTheRingThrows(long published) {
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    poke(reader, RingLayout.PUBLISHED, published);
    assertThrows(RingException.class, () -> reader.poll(this::take, 1));
  }

  @ParameterizedTest
  @ValueSource(ints = {-2, Integer.MIN_VALUE, 9, (int) CAPACITY, Integer.MAX_VALUE, -1})
  void aLengthOutsideWhatArrivedThrows(int length) {
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    poke(reader, RingLayout.PUBLISHED, 16);
    poke(reader, RingLayout.DATA, length & 0xffffffffL);
    assertThrows(RingException.class, () -> reader.poll(this::take, 1));
    assertEquals(List.of(), arrived);
  }

  @Test
  void aMessageThatCrossesTheEndOfTheRingThrows() {
    RingReader reader = RingReader.allocate(b.domain, CAPACITY, CAPACITY - 16);
    poke(reader, RingLayout.PUBLISHED, CAPACITY + 16);
    poke(reader, RingLayout.DATA + CAPACITY - 16, 16);
    assertThrows(RingException.class, () -> reader.poll(this::take, 1));
    assertEquals(List.of(), arrived);
  }

  private static void poke(RingReader reader, long offset, long value) {
    MemorySegment.ofAddress(reader.memory().address() + offset)
        .reinterpret(8)
        .set(ValueLayout.JAVA_LONG, 0, value);
  }

  @ParameterizedTest
  @ValueSource(longs = {-8, 4096, Long.MAX_VALUE, Long.MIN_VALUE})
  void aReaderThatHasReadWhatWasNotWrittenEndsTheAttachment(long consumed) throws Exception {
    RingReader reader = connectedReader();
    String longest = "x".repeat((int) writer.longestMessage());
    offer(longest);
    offer(longest);
    poke(reader, RingLayout.CONSUMED, consumed);
    assertThrows(RingException.class, () -> Await.until("room", () -> writer.offer(text(longest))));
    assertThrows(IllegalStateException.class, () -> writer.offer(text(longest)));
  }

  @ParameterizedTest
  @ValueSource(longs = {-8, 4, 4096, Long.MIN_VALUE})
  void aRingThatContinuesElsewhereIsRefused(long published) throws Exception {
    RingReader reader = connectedReader();
    offer("one");
    poke(reader, RingLayout.PUBLISHED, published);
    assertThrows(RingException.class, () -> attach(reader.memory()));
  }

  @ParameterizedTest
  @ValueSource(longs = {-8, 4, (1L << 62) + 8, Long.MIN_VALUE})
  void aWriterThatIsRefusedByOneRingContinuesAnother(long published) throws Exception {
    connect();
    RingReader bad = RingReader.allocate(b.domain, CAPACITY);
    poke(bad, RingLayout.PUBLISHED, published);
    assertThrows(RingException.class, () -> attach(bad.memory()));
    poke(bad, RingLayout.PUBLISHED, 4096);
    poke(bad, RingLayout.CONSUMED, 8192);
    assertThrows(RingException.class, () -> attach(bad.memory()));
    RingReader good = RingReader.allocate(b.domain, CAPACITY, 800);
    attach(good.memory());
    assertEquals(800, writer.position());
    offer("one");
    assertEquals(1, good.poll(this::take, 1));
  }

  @Test
  void aWriterDoesNotReplayWhatAnotherHasWritten() throws Exception {
    connect();
    RingReader reader = RingReader.allocate(b.domain, CAPACITY, 800);
    attach(reader.memory());
    offer("one");
    RingReader older = RingReader.allocate(b.domain, CAPACITY, 792);
    assertThrows(RingException.class, () -> attach(older.memory()));
    RingReader same = RingReader.allocate(b.domain, CAPACITY, 800);
    attach(same.memory());
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(1, same.poll(this::take, 9));
    assertEquals(List.of("one"), arrived);
  }

  /** What another writer has written must not count as a part of what was offered to this one. */
  @Test
  void aWriterWithMessagesDoesNotContinueTheRingOfAnother() throws Exception {
    connect();
    assertTrue(writer.offer(text("one")));
    assertTrue(writer.offer(text("two")));
    RingReader old = RingReader.allocate(b.domain, CAPACITY, 16);
    assertThrows(RingException.class, () -> attach(old.memory()));
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    attach(reader.memory());
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(2, reader.poll(this::take, 3));
    assertEquals(List.of("one", "two"), arrived);
  }

  /** The requests of attempts that were in vain fill the send queue until the peer answers. */
  @Test
  void attachingAgainWaitsForRoomInTheSendQueue() throws Exception {
    a.create(4);
    connect();
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    attach(reader.memory());
    network.faults().loss(1);
    assertTrue(writer.offer(text("zero")));
    assertTrue(writer.flush());
    for (int i = 0; i < 6; i++) {
      assertThrows(
          RdmaTimeoutException.class,
          () -> writer.attach(a.queuePair, a.completions, reader.memory(), Duration.ZERO));
    }
    network.faults().loss(0);
    attach(reader.memory());
    offer("one");
    assertEquals(2, reader.poll(this::take, 3), "the completion of the first write is an old one");
    assertEquals(List.of("zero", "one"), arrived);
  }

  /** Else the number of bytes that a write publishes would be changed before it is sent. */
  @Test
  @InSimulation
  void flushesWithoutAnAnswerAreLimited() throws Exception {
    a.create(128);
    connect();
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    attach(reader.memory());
    network.faults().loss(1);
    int flushes = 0;
    for (int i = 0; i < 40; i++) {
      assertTrue(writer.offer(text("")));
      flushes += writer.flush() ? 1 : 0;
    }
    assertEquals((64 - 1) / 3, flushes, "all requests have completions if the queue pair fails");
    network.faults().loss(0);
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(40, reader.poll(this::take, 99));
  }

  @Test
  void aPeerThatDoesNotAnswerIsATimeout() {
    connect();
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    network.faults().loss(1);
    assertThrows(
        RdmaTimeoutException.class,
        () -> writer.attach(a.queuePair, a.completions, reader.memory(), Duration.ofMillis(20)));
  }

  @Test
  void anEndThatMayNotBeReadIsNotAttached() {
    connect();
    MemoryRegion region =
        b.domain.allocateMemory(
            RingLayout.DATA + CAPACITY, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    assertThrows(WorkRequestException.class, () -> attach(RemoteMemory.of(region)));
  }

  // Replay

  @Test
  void attachingWritesWhatTheRingLacksWithoutAnotherCall() throws Exception {
    connect();
    assertTrue(writer.offer(text("one")));
    RingReader reader = RingReader.allocate(b.domain, CAPACITY);
    attach(reader.memory());
    assertTrue(reader.await(Await.LIMIT));
    assertEquals(1, reader.poll(this::take, 2));
    assertEquals(List.of("one"), arrived);
  }

  @Test
  void aRingWhoseMessagesTheWriterNoLongerHasIsRefused() throws Exception {
    RingReader reader = connectedReader();
    for (int i = 0; i < 2 * CAPACITY / 8; i++) {
      Await.until("room", () -> writer.offer(text("")));
      assertTrue(writer.awaitWritten(Await.LIMIT));
      assertEquals(1, reader.poll(this::take, 2));
    }
    reconnect(false);
    RingReader older = RingReader.allocate(b.domain, CAPACITY, CAPACITY - 8);
    assertThrows(RingException.class, () -> attach(older.memory()));
    RingReader oldest = RingReader.allocate(b.domain, CAPACITY, CAPACITY);
    attach(oldest.memory());
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(CAPACITY / 8, oldest.poll(this::take, (int) CAPACITY));
  }

  @Test
  void aMessageThatCannotBeCopiedLeavesTheOlderOnes() throws Exception {
    RingReader reader = connectedReader();
    String half = "x".repeat((int) writer.longestMessage());
    offer(half);
    offer(half);
    assertEquals(2, reader.poll(this::take, 2));
    Arena arena = Arena.ofShared();
    MemorySegment closed = arena.allocate(8);
    arena.close();
    Await.until(
        "room",
        () -> {
          try {
            return writer.offer(closed);
          } catch (IllegalStateException e) {
            return true;
          }
        });
    reconnect(false);
    RingReader again = RingReader.allocate(b.domain, CAPACITY);
    attach(again.memory());
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(2, again.poll(this::take, 3));
    assertEquals(List.of(half, half, half, half), arrived);
  }

  /** Messages of random lengths, polled in random batches, while queue pairs and readers die. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void eachMessageIsReadOnceOverABadNetworkAndNewQueuePairs(long seed) throws Exception {
    Random random = new Random(seed);
    network.faults().seed(seed).loss(0.01).duplicate(0.01).reorder(0.01);
    RingReader reader = connectedReader();
    MemorySegment message = Arena.ofAuto().allocate(writer.longestMessage());
    long offered = 0;
    RingChecker checker = new RingChecker(random);
    while (checker.next < 3_000) {
      switch (random.nextInt(8)) {
        case 0 -> {
          if (random.nextInt(20) == 0) {
            reconnect(random.nextBoolean());
            if (random.nextInt(3) == 0) { // Its process was replaced by another one.
              long position = reader.position();
              reader.close();
              reader = RingReader.allocate(b.domain, CAPACITY, position);
            }
            attach(reader.memory());
          }
        }
        case 1, 2 -> checker.poll(reader, 1 + random.nextInt(5));
        case 3 -> flush();
        default -> {
          int length = RingChecker.length(offered, message.byteSize());
          RingChecker.fill(message, offered, length);
          if (accepts(message, length)) {
            offered++;
          }
        }
      }
    }
    assertTrue(offered >= checker.next, "seed " + seed);
  }

  /** A queue pair that was broken is noticed by any method. */
  private void flush() {
    try {
      boolean _ = writer.flush();
    } catch (WorkRequestException e) {
      assertTrue(e.getMessage().contains("writing to a ring"), e.getMessage());
    }
  }

  private boolean accepts(MemorySegment message, int length) {
    try {
      return writer.offer(message, 0, length);
    } catch (WorkRequestException e) {
      assertTrue(e.getMessage().contains("writing to a ring"), e.getMessage());
      return false;
    } catch (IllegalStateException e) {
      assertTrue(e.getMessage().endsWith("attach another one"), e.getMessage());
      return false;
    }
  }

  private void reconnect(boolean isBroken) {
    if (isBroken) {
      a.queuePair.fail();
      flush();
    }
    for (RingEnd end : List.of(a, b)) {
      end.queuePair.close();
      end.completions.close();
      end.create(16);
    }
    connect();
  }

  /** In some rounds locks are contended, or code is not compiled yet. */
  @Test
  void messagesAllocateNothing() throws Exception {
    var _ = network.faults().none(); // A strict device keeps in objects what is late.
    RingReader reader = connectedReader();
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    MemorySegment message = Arena.ofAuto().allocate(100, 8);
    long[] sum = {0};
    RingReader.Handler handler = (_, _, length) -> sum[0] += length;
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 30; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 200; i++) {
        assertTrue(writer.offer(message));
        assertTrue(writer.flush());
        assertTrue(reader.await(Await.LIMIT));
        assertEquals(1, reader.poll(handler, 1));
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertEquals(0, least, "bytes for 200 messages");
    assertEquals(30 * 200 * 100, sum[0]);
  }

  /** A writer and a reader in threads of their own. */
  @Test
  void twoThreadsExchangeMessages() throws Exception {
    RingReader reader = connectedReader();
    int messages = 20_000;
    FutureTask<Long> reading =
        new FutureTask<>(
            () -> {
              long[] next = {0};
              while (next[0] < messages) {
                assertTrue(reader.await(Await.LIMIT), "message " + next[0]);
                reader.poll(
                    (memory, offset, length) -> {
                      assertEquals(next[0], memory.get(ValueLayout.JAVA_LONG, offset));
                      next[0]++;
                    },
                    100);
              }
              return next[0];
            });
    Thread.ofPlatform().start(reading);
    MemorySegment message = Arena.ofAuto().allocate(8, 8);
    for (long i = 0; i < messages; i++) {
      message.set(ValueLayout.JAVA_LONG, 0, i);
      Await.until("room", () -> reading.isDone() || writer.offer(message));
      boolean _ = writer.flush();
    }
    assertTrue(writer.awaitWritten(Await.LIMIT));
    assertEquals(messages, reading.get());
  }
}
