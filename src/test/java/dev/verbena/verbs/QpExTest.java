package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Need.ONE_KIND;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.internal.life.Core;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.FlushPlacement;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;

/**
 * Requests that are built one by one, as rdma-core's test_qpex.py builds them: the region of {@code
 * ibv_wr_start} to {@code ibv_wr_complete}.
 */
class QpExTest {
  private static final int ROUNDS = 10;
  static final int SIZE = 1024;

  static Pair rc(SendOperation... operations) {
    return Pair.inUse(QueuePairType.RC, builder -> builder.sendOperations(operations));
  }

  private static Pair ud(SendOperation... operations) {
    return Pair.inUse(QueuePairType.UD, builder -> builder.sendOperations(operations));
  }

  /** Completes a posting of one request and waits for its end. */
  private static Completions run(Pair.Side side, Posting posting, CompletionStatus expected) {
    assertEquals(1, posting.complete());
    return side.completion(expected);
  }

  private static Completions run(Pair.Side side, Posting posting) {
    return run(side, posting, CompletionStatus.SUCCESS);
  }

  static Completions run(Pair.Side side, PostingRequest last) {
    assertEquals(1, last.complete());
    return side.completion(CompletionStatus.SUCCESS);
  }

  private static void assertArrived(Pair pair, long offset, long size) {
    MemorySegment from = pair.a.memory.memory().asSlice(0, size);
    MemorySegment to = pair.b.memory.memory().asSlice(offset, size);
    Await.until("the data of the write", () -> from.mismatch(to) == -1);
  }

  // Sends

  @DeviceTest
  void sends() {
    try (Pair pair = rc(SendOperation.SEND)) {
      for (int i = 0; i < ROUNDS; i++) {
        pair.a.memory.memory().fill((byte) (i + 1));
        pair.b.receive(i);
        Posting posting = pair.a.queuePair.startPosting();
        Completions sent =
            run(pair.a, posting.send().id(100 + i).signaled().local(pair.a.memory, 0, SIZE));
        assertEquals(100 + i, sent.id(0));
        assertEquals(CompletionOpcode.SEND, sent.opcode(0));
        Completions received = pair.b.completion(CompletionStatus.SUCCESS);
        assertEquals(i, received.id(0));
        assertEquals(SIZE, received.byteLength(0));
        assertArrived(pair, 0, SIZE);
      }
    }
  }

  @DeviceTest
  void sendsWithImmediate() {
    try (Pair pair = rc(SendOperation.SEND_WITH_IMM)) {
      pair.b.receive(1);
      PostingRequest posting =
          pair.a.queuePair.startPosting().sendWithImmediate(0x12345678).signaled();
      run(pair.a, posting.local(pair.a.memory, 0, SIZE));
      Completions received = pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals(CompletionOpcode.RECV, received.opcode(0));
      assertTrue(received.has(0, CompletionFlag.WITH_IMM));
      assertEquals(0x12345678, received.immediate(0));
    }
  }

  @DeviceTest
  void sendsDatagrams() {
    try (Pair pair = ud(SendOperation.SEND)) {
      datagram(pair, SIZE, Optional.empty());
    }
  }

  @DeviceTest
  void sendsEmptyDatagrams() {
    try (Pair pair = ud(SendOperation.SEND)) {
      datagram(pair, 0, Optional.empty());
    }
  }

  @DeviceTest
  void sendsDatagramsWithImmediate() {
    try (Pair pair = ud(SendOperation.SEND_WITH_IMM)) {
      datagram(pair, SIZE, Optional.of(0x1234));
    }
  }

  private static void datagram(Pair pair, int size, Optional<Integer> immediate) {
    QueuePairAddress b = pair.b.queuePair.localAddress();
    AddressHandle handle = pair.handleToB();
    for (int i = 0; i < ROUNDS; i++) {
      pair.a.memory.memory().fill((byte) (i + 1));
      pair.b.receive(i);
      Posting posting = pair.a.queuePair.startPosting();
      PostingRequest sent =
          immediate.isPresent() ? posting.sendWithImmediate(immediate.get()) : posting.send();
      sent.signaled().local(pair.a.memory, 0, size).to(handle, b.number(), b.queueKey());
      run(pair.a, posting);
      Completions received = pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals(40 + size, received.byteLength(0));
      assertEquals(pair.a.queuePair.number(), received.sourceQueuePair(0));
      assertEquals(immediate.isPresent(), received.has(0, CompletionFlag.WITH_IMM));
      immediate.ifPresent(value -> assertEquals(value, received.immediate(0)));
      assertArrived(pair, 40, size);
    }
  }

  @DeviceTest
  void sendsWithInvalidate() {
    try (Pair pair =
        rc(SendOperation.SEND_WITH_INV, SendOperation.BIND_MW, SendOperation.RDMA_WRITE)) {
      int rkey = bind(pair.b, pair.b.page(bindable()).register(), AccessFlag.REMOTE_WRITE);
      pair.b.receive(1);
      PostingRequest posting = pair.a.queuePair.startPosting().sendWithInvalidate(rkey).signaled();
      run(pair.a, posting.local(pair.a.memory, 0, 8));
      Completions received = pair.b.completion(CompletionStatus.SUCCESS);
      // rxe passes on the kernel's bit for it, which is another one's in user space.
      assertTrue(
          received.has(0, CompletionFlag.WITH_INV) || received.has(0, CompletionFlag.IP_CSUM_OK),
          () -> received.flags(0).toString());
      assertEquals(rkey, received.invalidatedKey(0));
      Posting write = pair.a.queuePair.startPosting();
      write.write(pair.b.memory.start(), rkey).signaled().local(pair.a.memory, 0, 8);
      run(pair.a, write, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  @DeviceTest
  void cursorReadsTheKeyThatASendInvalidated() {
    try (Pair pair = new Pair()) {
      ExtendedCompletionQueue received =
          pair.b.context.completionQueue(16).createExtended(CompletionField.IMM);
      SendOperation[] operations = {SendOperation.SEND_WITH_INV, SendOperation.BIND_MW};
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).sendOperations(operations).create();
      pair.b.queuePair =
          pair.b
              .builder(QueuePairType.RC)
              .receiveCompletions(received)
              .sendOperations(operations)
              .create();
      pair.connect();
      int rkey = bind(pair.b, pair.b.page(bindable()).register(), AccessFlag.REMOTE_WRITE);
      pair.b.receive(1);
      PostingRequest posting = pair.a.queuePair.startPosting().sendWithInvalidate(rkey).signaled();
      run(pair.a, posting.local(pair.a.memory, 0, 8));
      int[] key = {0};
      Await.until(
          "a receive",
          () -> {
            try (CompletionCursor cursor = received.startPolling()) {
              boolean found = cursor.next();
              key[0] = found ? cursor.invalidatedKey() : 0;
              return found;
            }
          });
      assertEquals(rkey, key[0]);
    }
  }

  private static AccessFlag[] bindable() {
    return new AccessFlag[] {AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND};
  }

  /** Shows a region through a window of type 2; the result is the window's key. */
  private static int bind(Pair.Side side, MemoryRegion region, AccessFlag... access) {
    MemoryWindow window = MemoryWindow.allocate(side.domain, MemoryWindowType.TYPE_2);
    int rkey = MemoryWindow.nextKey(window.rkey());
    WindowBinding binding = new WindowBinding(region, 0, region.length(), Set.of(access));
    Posting posting = side.queuePair.startPosting();
    Completions bound =
        run(side, posting.bindMemoryWindow(window, rkey, binding).id(0x123).signaled());
    assertEquals(CompletionOpcode.BIND_MW, bound.opcode(0));
    return rkey;
  }

  // Writes and reads

  @DeviceTest
  void writes() {
    try (Pair pair = rc(SendOperation.RDMA_WRITE)) {
      for (int i = 0; i < ROUNDS; i++) {
        pair.a.memory.memory().fill((byte) (i + 1));
        Posting posting = pair.a.queuePair.startPosting();
        posting
            .write(pair.b.memory.start(), pair.b.memory.rkey())
            .signaled()
            .local(pair.a.memory, 0, SIZE);
        assertEquals(CompletionOpcode.RDMA_WRITE, run(pair.a, posting).opcode(0));
        assertArrived(pair, 0, SIZE);
      }
    }
  }

  @DeviceTest
  void writesNothing() {
    try (Pair pair = rc(SendOperation.RDMA_WRITE)) {
      pair.a.memory.memory().fill((byte) 1);
      Posting posting = pair.a.queuePair.startPosting();
      posting
          .write(pair.b.memory.start(), pair.b.memory.rkey())
          .signaled()
          .local(pair.a.memory, 0, 0);
      run(pair.a, posting);
      assertEquals(0, pair.b.memory.memory().get(ValueLayout.JAVA_BYTE, 0));
    }
  }

  @DeviceTest
  void writesWithImmediate() {
    try (Pair pair = rc(SendOperation.RDMA_WRITE_WITH_IMM)) {
      pair.a.memory.memory().fill((byte) 7);
      pair.b.receive(9);
      Posting posting = pair.a.queuePair.startPosting();
      posting
          .writeWithImmediate(pair.b.memory.start() + SIZE, pair.b.memory.rkey(), 0xcafe)
          .signaled()
          .local(pair.a.memory, 0, SIZE);
      run(pair.a, posting);
      Completions received = pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals(9, received.id(0));
      assertEquals(CompletionOpcode.RECV_RDMA_WITH_IMM, received.opcode(0));
      assertEquals(0xcafe, received.immediate(0));
      assertArrived(pair, SIZE, SIZE);
    }
  }

  @DeviceTest
  void sendsImmediateValuesAlone() {
    try (Pair pair = rc(SendOperation.RDMA_WRITE_WITH_IMM, SendOperation.SEND_WITH_IMM)) {
      MemoryRegion target = pair.b.memory;
      for (int i = 0; i < ROUNDS; i++) {
        pair.b.receive(i);
        pair.b.receive(i);
        try (Posting posting = pair.a.queuePair.startPosting()) {
          posting.writeWithImmediate(target.start(), target.rkey(), i);
          posting.sendWithImmediate(100 + i).signaled();
          assertEquals(2, posting.complete());
        }
        pair.a.completion(CompletionStatus.SUCCESS);
        assertEquals(i, pair.b.completion(CompletionStatus.SUCCESS).immediate(0));
        Completions sent = pair.b.completion(CompletionStatus.SUCCESS);
        assertEquals(100 + i, sent.immediate(0));
        assertEquals(0, sent.byteLength(0));
      }
    }
  }

  @DeviceTest
  void reads() {
    try (Pair pair = rc(SendOperation.RDMA_READ)) {
      for (int i = 0; i < ROUNDS; i++) {
        pair.b.memory.memory().fill((byte) (i + 1));
        Posting posting = pair.a.queuePair.startPosting();
        posting
            .read(pair.b.memory.start(), pair.b.memory.rkey())
            .signaled()
            .local(pair.a.memory, 0, SIZE);
        assertEquals(CompletionOpcode.RDMA_READ, run(pair.a, posting).opcode(0));
        assertArrived(pair, 0, SIZE);
      }
    }
  }

  @DeviceTest
  void readsNothing() {
    try (Pair pair = rc(SendOperation.RDMA_READ)) {
      pair.b.memory.memory().fill((byte) 1);
      Posting posting = pair.a.queuePair.startPosting();
      posting
          .read(pair.b.memory.start(), pair.b.memory.rkey())
          .signaled()
          .local(pair.a.memory, 0, 0);
      run(pair.a, posting);
      assertEquals(0, pair.a.memory.memory().get(ValueLayout.JAVA_BYTE, 0));
    }
  }

  // Atomics, atomic write, flush

  @DeviceTest
  void comparesAndSwaps() {
    try (Pair pair = rc(SendOperation.ATOMIC_CMP_AND_SWP)) {
      MemorySegment counter = pair.b.memory.memory();
      counter.set(ValueLayout.JAVA_LONG, 0, 41);
      for (long expected : new long[] {41, 41}) {
        Posting posting = pair.a.queuePair.startPosting();
        posting
            .compareAndSwap(pair.b.memory.start(), pair.b.memory.rkey(), expected, 42)
            .signaled()
            .local(pair.a.memory, 0, Long.BYTES);
        assertEquals(CompletionOpcode.ATOMIC_CMP_AND_SWP, run(pair.a, posting).opcode(0));
        assertEquals(42, counter.get(ValueLayout.JAVA_LONG, 0));
      }
      assertEquals(42, pair.a.memory.memory().get(ValueLayout.JAVA_LONG, 0), "the value it found");
    }
  }

  @DeviceTest
  void fetchesAndAdds() {
    try (Pair pair = rc(SendOperation.ATOMIC_FETCH_AND_ADD)) {
      MemorySegment counter = pair.b.memory.memory();
      counter.set(ValueLayout.JAVA_LONG, 0, 1000);
      for (int i = 0; i < ROUNDS; i++) {
        Posting posting = pair.a.queuePair.startPosting();
        posting
            .fetchAndAdd(pair.b.memory.start(), pair.b.memory.rkey(), 5)
            .signaled()
            .local(pair.a.memory, 0, Long.BYTES);
        assertEquals(CompletionOpcode.ATOMIC_FETCH_AND_ADD, run(pair.a, posting).opcode(0));
        assertEquals(1000 + i * 5L, pair.a.memory.memory().get(ValueLayout.JAVA_LONG, 0));
      }
      assertEquals(1000 + ROUNDS * 5L, counter.get(ValueLayout.JAVA_LONG, 0));
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "libmlx5 has no atomic write")
  void writesAtomically() {
    try (Pair pair = rc(SendOperation.ATOMIC_WRITE)) {
      boolean known = !Rig.labGuest().equals(Optional.of("bookworm"));
      Posting posting = pair.a.queuePair.startPosting();
      posting
          .atomicWrite(pair.b.memory.start() + 8, pair.b.memory.rkey(), 0x0102_0304_0506_0708L)
          .signaled();
      Completions written =
          run(pair.a, posting, known ? CompletionStatus.SUCCESS : CompletionStatus.LOC_QP_OP_ERR);
      if (known) {
        assertEquals(CompletionOpcode.ATOMIC_WRITE, written.opcode(0));
        assertEquals(0x0102_0304_0506_0708L, pair.b.memory.memory().get(ValueLayout.JAVA_LONG, 8));
      }
    }
  }

  /** Both ends of a flush, or empty where rdma-core is too old for it, which is said. */
  private static Optional<Pair> flushing() {
    if (Rig.labGuest().equals(Optional.of("bookworm"))) {
      Refusal.of(() -> rc(SendOperation.FLUSH, SendOperation.RDMA_WRITE).close());
      return Optional.empty();
    }
    Pair pair = new Pair();
    for (Pair.Side side : List.of(pair.a, pair.b)) {
      side.queuePair =
          side.builder(QueuePairType.RC)
              .sendOperations(SendOperation.FLUSH, SendOperation.RDMA_WRITE)
              .create();
      side.queuePair
          .setup()
          .access(AccessFlag.REMOTE_WRITE, AccessFlag.FLUSH_GLOBAL, AccessFlag.FLUSH_PERSISTENT);
    }
    pair.connect();
    return Optional.of(pair);
  }

  private static MemoryRegion flushable(Pair pair) {
    return pair.b
        .page(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.FLUSH_GLOBAL)
        .register();
  }

  @DeviceTest
  @Needs(ONE_KIND)
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "libmlx5 has no flush")
  void flushes() {
    flushing()
        .ifPresent(
            pair -> {
              try (pair) {
                MemoryRegion target = flushable(pair);
                var placements = Set.of(FlushPlacement.GLOBAL);
                pair.a.memory.memory().fill((byte) 3);
                Posting posting = pair.a.queuePair.startPosting();
                posting.write(target.start(), target.rkey()).local(pair.a.memory, 0, SIZE);
                posting.flush(target.start(), target.rkey(), SIZE, placements).signaled();
                assertEquals(2, posting.complete());
                Completions flushed = pair.a.completion(CompletionStatus.SUCCESS);
                assertEquals(CompletionOpcode.FLUSH, flushed.opcode(0));
                assertEquals(3, target.memory().get(ValueLayout.JAVA_BYTE, SIZE - 1));
                Posting all = pair.a.queuePair.startPosting();
                run(pair.a, all.flushRegion(target.rkey(), placements).signaled());
              }
            });
  }

  @DeviceTest
  @Needs(ONE_KIND)
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "libmlx5 has no flush")
  void flushesOnlyWhatTheRegionAllows() {
    flushing()
        .ifPresent(
            pair -> {
              try (pair) {
                MemoryRegion target = flushable(pair);
                Posting posting = pair.a.queuePair.startPosting();
                posting
                    .flush(target.start(), target.rkey(), SIZE, Set.of(FlushPlacement.PERSISTENT))
                    .signaled();
                run(pair.a, posting, CompletionStatus.REM_ACCESS_ERR);
              }
            });
  }

  // Memory windows

  @DeviceTest
  void bindsAWindow() {
    try (Pair pair = rc(SendOperation.RDMA_WRITE, SendOperation.BIND_MW)) {
      MemoryRegion region = pair.b.page(bindable()).register();
      int writable = bind(pair.b, region, AccessFlag.REMOTE_WRITE);
      Posting allowed = pair.a.queuePair.startPosting();
      run(pair.a, allowed.write(region.start(), writable).signaled().local(pair.a.memory, 0, 8));
      int readOnly = bind(pair.b, region);
      Posting refused = pair.a.queuePair.startPosting();
      refused.write(region.start(), readOnly).id(0x124).signaled().local(pair.a.memory, 0, 8);
      run(pair.a, refused, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  @DeviceTest
  void invalidatesAKeyOfItsOwn() {
    try (Pair pair =
        rc(
            SendOperation.RDMA_WRITE,
            SendOperation.RDMA_READ,
            SendOperation.BIND_MW,
            SendOperation.LOCAL_INV)) {
      MemoryRegion region = pair.b.page(bindable()).register();
      int rkey = bind(pair.b, region, AccessFlag.REMOTE_WRITE);
      Posting posting = pair.b.queuePair.startPosting();
      posting.read(pair.a.memory.start(), pair.a.memory.rkey()).local(region, 0, 8);
      posting.localInvalidate(rkey).fenced().signaled();
      assertEquals(2, posting.complete());
      assertEquals(
          CompletionOpcode.LOCAL_INV, pair.b.completion(CompletionStatus.SUCCESS).opcode(0));
      Posting late = pair.a.queuePair.startPosting();
      late.write(region.start(), rkey).signaled().local(pair.a.memory, 0, 8);
      run(pair.a, late, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  // Batches and data

  @DeviceTest
  void postsABatch() {
    try (Pair pair = rc(SendOperation.RDMA_WRITE, SendOperation.RDMA_WRITE_WITH_IMM)) {
      MemoryRegion target = pair.b.memory;
      pair.b.receive(5);
      try (Posting posting = pair.a.queuePair.startPosting()) {
        posting.write(target.start(), target.rkey()).id(1).local(pair.a.memory, 0, SIZE);
        posting
            .writeWithImmediate(target.start() + SIZE, target.rkey(), 0x1234)
            .id(2)
            .signaled()
            .local(pair.a.memory, SIZE, SIZE);
        assertEquals(2, posting.complete());
      }
      assertEquals(2, pair.a.completion(CompletionStatus.SUCCESS).id(0));
      assertEquals(0x1234, pair.b.completion(CompletionStatus.SUCCESS).immediate(0));
      assertEquals(0, pair.a.completionQueue.poll(new Completions(1)), "one completion");
    }
  }

  @DeviceTest
  void gathersData() {
    try (Pair pair =
        Pair.inUse(
            QueuePairType.RC,
            builder ->
                builder
                    .capacity(
                        QueuePairCapacity.of(16)
                            .withSendSges(2)
                            .withReceiveSges(2)
                            .withMaxInlineData(64))
                    .sendOperations(SendOperation.SEND))) {
      MemorySegment from = pair.a.memory.memory();
      MemorySegment to = pair.b.memory.memory();
      from.setString(0, "verb");
      from.setString(100, "ena");
      pair.b.receive(1);
      PostingRequest list = pair.a.queuePair.startPosting().send().signaled();
      // Of one length: librxe counts all entries by the first before rdma-core 64.
      run(pair.a, list.local(pair.a.memory, 0, 4).local(pair.a.memory, 100, 4));
      pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals("verbena", to.getString(0));

      from.setString(0, "inline");
      pair.b.receive(2);
      PostingRequest inline = pair.a.queuePair.startPosting().send().signaled();
      inline.inline(from.asSlice(0, 7));
      from.setString(0, "reused"); // Copied already, long before the end.
      run(pair.a, inline);
      pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals("inline", to.getString(0));

      from.setString(0, "of parts");
      pair.b.receive(3);
      PostingRequest parts = pair.a.queuePair.startPosting().send().signaled();
      run(pair.a, parts.inline(from.asSlice(0, 3), from.asSlice(3, 6)));
      pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals("of parts", to.getString(0));
    }
  }

  @DeviceTest
  void abortedPostingIsDropped() throws Exception {
    try (Pair pair = rc(SendOperation.RDMA_WRITE)) {
      MemoryRegion target = pair.b.memory;
      pair.a.memory.memory().fill((byte) 1);
      SendList list = new SendList(1, 1);
      list.write(0).local(pair.a.memory, 8, 8).remote(target.start() + 8, target.rkey()).signaled();
      try (Posting posting = pair.a.queuePair.startPosting()) {
        posting.write(target.start(), target.rkey()).signaled().local(pair.a.memory, 0, 8);
        assertThrows(IllegalStateException.class, () -> pair.a.queuePair.post(list));
      }
      var other = new FutureTask<>(() -> pair.a.run(list), null);
      Thread.ofPlatform().start(other);
      other.get(); // The lock of the send queue is free.
      Await.until("posted after it", () -> target.memory().get(ValueLayout.JAVA_BYTE, 8) == 1);
      assertEquals(0, target.memory().get(ValueLayout.JAVA_LONG, 0), "aborted");
    }
  }

  @DeviceTest
  void operationsOfOtherTypesThrow() {
    try (Pair pair = new Pair()) {
      for (SendOperation operation :
          new SendOperation[] {SendOperation.RDMA_READ, SendOperation.ATOMIC_FETCH_AND_ADD}) {
        var builder = pair.a.builder(QueuePairType.UD).sendOperations(operation);
        assertTrue(assertThrows(VerbsException.class, builder::create).isUnsupported());
      }
      QueuePair plain = pair.a.builder(QueuePairType.RC).create();
      assertThrows(IllegalStateException.class, plain::startPosting);
    }
  }

  // What cannot be posted

  @DeviceTest
  void receiveInResetThrows() {
    try (Pair pair = ud(SendOperation.SEND)) {
      pair.b.queuePair.reset();
      ReceiveList list = new ReceiveList(1, 1);
      list.local(0, pair.b.memory, 0, 64);
      var thrown = assertThrows(IllegalStateException.class, () -> pair.b.queuePair.post(list));
      assertTrue(thrown.getMessage().contains("in state RESET"), thrown.getMessage());
    }
  }

  @DeviceTest
  void sendInResetThrows() {
    try (Pair pair = ud(SendOperation.SEND)) {
      AddressHandle handle = pair.handleToB();
      QueuePairAddress b = pair.b.queuePair.localAddress();
      pair.a.queuePair.reset();
      Posting posting = pair.a.queuePair.startPosting();
      posting.send().local(pair.a.memory, 0, 8).to(handle, b.number(), b.queueKey());
      var thrown = assertThrows(IllegalStateException.class, posting::complete);
      assertTrue(thrown.getMessage().contains("in state RESET"), thrown.getMessage());
      assertTrue(thrown.getMessage().contains("ibv_wr_complete: EINVAL"), thrown.getMessage());
      assertFalse(posting.section().isOpenHere());
      SendList list = new SendList(1, 1);
      list.send(0).local(pair.a.memory, 0, 8).to(handle, b.number(), b.queueKey());
      thrown = assertThrows(IllegalStateException.class, () -> pair.a.queuePair.post(list));
      assertTrue(thrown.getMessage().contains("in state RESET"), thrown.getMessage());
      assertTrue(thrown.getMessage().contains("ibv_post_send"), thrown.getMessage());
    }
  }

  @DeviceTest
  void fullReceiveQueuePostsNoMore() {
    try (Pair pair = ud(SendOperation.SEND)) {
      int room = pair.b.queuePair.query(QueuePairAttribute.CAP).capacity().receiveRequests();
      ReceiveList list = new ReceiveList(room + 1, 1);
      for (int i = 0; i <= room; i++) {
        list.local(i, pair.b.memory, 0, 64);
      }
      assertEquals(room, pair.b.queuePair.post(list));
      assertEquals(0, pair.b.queuePair.post(list, room, 1));
    }
  }

  /** The provider may hold the lock of the send queue for the thread. */
  @DeviceTest
  @Tag("slow")
  void closeEndsBesideThePostingOfAVirtualThreadThatSleeps() throws Exception {
    CountDownLatch open = new CountDownLatch(1);
    CountDownLatch sleeping = new CountDownLatch(1);
    try (Pair pair = ud(SendOperation.SEND)) {
      QueuePair closed = pair.a.queuePair;
      FutureTask<Void> opener =
          new FutureTask<>(
              () -> {
                try (Posting _ = closed.startPosting()) {
                  open.countDown();
                  sleeping.await();
                }
                return null;
              });
      Thread sleeper = Thread.ofVirtual().start(opener);
      open.await();
      try {
        for (Resource object : List.of(closed, pair.a.context)) {
          String message = assertThrows(IllegalStateException.class, object::close).getMessage();
          assertEquals(
              Core.of(closed)
                  + " cannot be closed: its posting is open in thread #"
                  + sleeper.threadId(),
              message);
          assertTrue(object.isOpen());
        }
      } finally {
        sleeping.countDown();
      }
      opener.get();
      closed.close();
    }
  }

  @DeviceTest
  void receivesHaveNoMoreEntriesThanTheQueueTakes() {
    try (Pair pair = ud(SendOperation.SEND)) {
      int entries = pair.b.queuePair.capacity().receiveSges() + 1;
      ReceiveList list = new ReceiveList(1, entries);
      for (int i = 0; i < entries; i++) {
        list.local(0, i, pair.b.memory, i * 8L, 8);
      }
      var thrown = assertThrows(IllegalArgumentException.class, () -> pair.b.queuePair.post(list));
      assertTrue(thrown.getMessage().contains(entries + " SGEs"), thrown.getMessage());
    }
  }
}
