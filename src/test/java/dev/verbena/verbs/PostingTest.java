package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.fake.RecordingFunctions;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_qp_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.FlushPlacement;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What a posting tells C, call by call, and what it refuses before C hears of it. */
class PostingTest {
  private static final long ID = Abi.current().offsetOf(ibv_qp_ex.layout(), "wr_id");
  private static final long FLAGS = Abi.current().offsetOf(ibv_qp_ex.layout(), "wr_flags");

  private final Arena arena = Arena.ofShared();
  private final RecordingFunctions calls = new RecordingFunctions().noting(PostingTest::idAndFlags);
  private final RecordingDevice device = new RecordingDevice(calls);
  private final ProtectionDomain domain = device.context.allocateProtectionDomain();
  private final CompletionQueue completions = device.context.createCompletionQueue(64);
  private final MemorySegment buffer = arena.allocate(256, 8);
  private final MemoryRegion region =
      domain.registerMemory(
          buffer, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND);
  private final QueuePair rc = queuePair(QueuePairType.RC, SendOperation.values());

  private QueuePair queuePair(QueuePairType type, SendOperation... operations) {
    return QueuePair.builder(domain, type)
        .completions(completions)
        .capacity(QueuePairCapacity.of(8).withSendSges(2).withReceiveSges(2).withMaxInlineData(64))
        .sendOperations(operations)
        .create();
  }

  /** Number and flags are not arguments: C finds them in the queue pair when a request begins. */
  private static String idAndFlags(String function, long queuePair) {
    return function.matches("wr_(start|complete|abort|set_.*)")
        ? ""
        : " #%d/%d".formatted(Memory.getLong(queuePair + ID), Memory.getInt(queuePair + FLAGS));
  }

  @AfterEach
  void close() {
    device.close();
    arena.close();
  }

  private static <T extends Throwable> String message(Class<T> type, Executable executable) {
    return assertThrows(type, executable).getMessage();
  }

  private void assertCalls(String... expected) {
    assertEquals(List.of(expected), calls.taken());
  }

  private static List<String> withoutData(List<String> calls) {
    return calls.stream().filter(call -> !call.startsWith("wr_set_sge")).toList();
  }

  @Test
  void twoRequestsArePostedTogether() {
    try (Posting posting = rc.startPosting()) {
      posting.write(0x1000, 5).id(1).local(region, 8, 16);
      posting.writeWithImmediate(0x2000, 5, 0x1234).local(region, 24, 32).id(2).signaled();
      assertEquals(2, posting.complete());
    }
    assertCalls(
        "wr_start()",
        "wr_rdma_write(5, 4096) #1/0",
        "wr_set_sge(%d, %d, 16)".formatted(region.lkey(), buffer.address() + 8),
        "wr_rdma_write_imm(5, 8192, %d) #2/%d"
            .formatted(Integer.reverseBytes(0x1234), rdma_h.IBV_SEND_SIGNALED()),
        "wr_set_sge(%d, %d, 32)".formatted(region.lkey(), buffer.address() + 24),
        "wr_complete()");
  }

  @Test
  void everyRequestArrivesWithItsValues() {
    MemorySegment header = arena.allocate(54);
    MemoryWindow window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
    try (Posting posting = rc.startPosting()) {
      posting.send();
      posting.sendWithImmediate(0x01020304);
      posting.sendWithInvalidate(9);
      posting.read(2, 1);
      posting.compareAndSwap(16, 1, 3, 4).local(region, 0, 8);
      posting.fetchAndAdd(24, 1, 5).local(region, 8, 8);
      posting.atomicWrite(32, 1, 6);
      posting.flush(64, 1, 128, Set.of(FlushPlacement.GLOBAL));
      posting.flushRegion(1, Set.of(FlushPlacement.PERSISTENT));
      posting.localInvalidate(7);
      posting.bindMemoryWindow(
          window, 77, new WindowBinding(region, 0, 8, Set.of(AccessFlag.REMOTE_WRITE)));
      assertEquals(11, posting.complete());
    }
    List<String> taken = withoutData(calls.taken());
    assertEquals("wr_send() #0/0", taken.get(1));
    assertEquals("wr_send_imm(%d) #0/0".formatted(Integer.reverseBytes(0x01020304)), taken.get(2));
    assertEquals("wr_send_inv(9) #0/0", taken.get(3));
    assertEquals("wr_rdma_read(1, 2) #0/0", taken.get(4));
    assertEquals("wr_atomic_cmp_swp(1, 16, 3, 4) #0/0", taken.get(5));
    assertEquals("wr_atomic_fetch_add(1, 24, 5) #0/0", taken.get(6));
    assertTrue(taken.get(7).matches("wr_atomic_write\\(1, 32, \\d+\\) #0/0"), taken.get(7));
    assertEquals(
        "wr_flush(1, 64, 128, %d, %d) #0/0"
            .formatted(rdma_h.IBV_FLUSH_GLOBAL(), rdma_h.IBV_FLUSH_RANGE()),
        taken.get(8));
    assertEquals(
        "wr_flush(1, 0, 0, %d, %d) #0/0"
            .formatted(rdma_h.IBV_FLUSH_PERSISTENT(), rdma_h.IBV_FLUSH_MR()),
        taken.get(9));
    assertEquals("wr_local_inv(7) #0/0", taken.get(10));
    assertTrue(
        taken
            .get(11)
            .matches("wr_bind_mw\\(%d, 77, \\d+\\) #0/0".formatted(window.segment().address())),
        taken.get(11));
    assertEquals("wr_complete()", taken.get(12));

    QueuePair raw = queuePair(QueuePairType.RAW_PACKET, SendOperation.TSO);
    try (Posting posting = raw.startPosting()) {
      posting.tso(header, 1460).local(region, 0, 256);
      assertEquals(1, posting.complete());
    }
    String segmented = calls.taken().get(1);
    assertTrue(segmented.matches("wr_send_tso\\(\\d+, 54, 1460\\) #0/0"), segmented);
  }

  @Test
  void dataIsGivenAsAnSgeAListOrInline() {
    MemorySegment more = arena.allocate(8);
    try (Posting posting = rc.startPosting()) {
      posting.send().local(region, 0, 8).local(region, 16, 8);
      posting.send().inline(buffer.asSlice(0, 12));
      posting.send().inline(buffer.asSlice(0, 12), more);
      assertEquals(3, posting.complete());
    }
    List<String> taken = calls.taken();
    assertTrue(taken.get(2).matches("wr_set_sge_list\\(2, \\d+\\)"), taken.get(2));
    assertEquals("wr_set_inline_data(%d, 12)".formatted(buffer.address()), taken.get(4));
    assertEquals("wr_send() #0/" + rdma_h.IBV_SEND_INLINE(), taken.get(5));
    assertTrue(taken.get(6).matches("wr_set_inline_data_list\\(2, \\d+\\)"), taken.get(6));
  }

  @Test
  void datagramsAndXrcRequestsHaveTheirTargets() {
    AddressHandle handle = domain.createAddressHandle(AddressVector.local(1, 7));
    QueuePair ud = queuePair(QueuePairType.UD, SendOperation.SEND);
    try (Posting posting = ud.startPosting()) {
      posting.send().local(region, 0, 8).to(handle, 0x123, 0x11111111);
      assertTrue(posting.complete() > 0);
    }
    String data = "wr_set_sge(%d, %d, 8)".formatted(region.lkey(), buffer.address());
    assertCalls(
        "wr_start()",
        "wr_send() #0/0",
        "wr_set_ud_addr(%d, %d, %d)".formatted(handle.segment().address(), 0x123, 0x11111111),
        data,
        "wr_complete()");
    QueuePair xrc = queuePair(QueuePairType.XRC_SEND, SendOperation.SEND);
    try (Posting posting = xrc.startPosting()) {
      posting.send().local(region, 0, 8).sharedReceiveQueue(42);
      assertTrue(posting.complete() > 0);
    }
    assertCalls("wr_start()", "wr_send() #0/0", "wr_set_xrc_srqn(42)", data, "wr_complete()");
  }

  @Test
  void requestWithoutDataThrows() {
    MemorySegment header = arena.allocate(54);
    QueuePair raw = queuePair(QueuePairType.RAW_PACKET, SendOperation.TSO);
    try (Posting posting = rc.startPosting();
        Posting segments = raw.startPosting()) {
      for (Runnable request :
          List.<Runnable>of(
              posting::send,
              () -> posting.sendWithImmediate(1),
              () -> posting.sendWithInvalidate(1),
              () -> posting.write(2, 1),
              () -> posting.writeWithImmediate(2, 1, 3),
              () -> posting.read(2, 1))) {
        request.run();
        calls.taken();
        posting.localInvalidate(1);
        assertTrue(calls.taken().getLast().matches("wr_set_sge_list\\(0, \\d+\\)"));
      }
      segments.tso(header, 1460);
      calls.taken();
      assertTrue(segments.complete() > 0);
      assertTrue(calls.taken().get(1).matches("wr_set_sge_list\\(0, \\d+\\)"));
    }
  }

  @Test
  void requestsWithoutDataHaveNoSge() {
    MemoryWindow window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
    WindowBinding binding = new WindowBinding(region, 0, 8, Set.of(AccessFlag.REMOTE_WRITE));
    try (Posting posting = rc.startPosting()) {
      posting.localInvalidate(7);
      posting.bindMemoryWindow(window, 77, binding);
      posting.atomicWrite(32, 1, 6);
      posting.flushRegion(1, Set.of(FlushPlacement.GLOBAL));
      posting.send().inline(buffer.asSlice(0, 8));
      assertThrows(
          IllegalStateException.class, () -> posting.atomicWrite(32, 1, 6).local(region, 0, 8));
      assertThrows(
          IllegalStateException.class,
          () -> posting.flushRegion(1, Set.of(FlushPlacement.GLOBAL)).local(region, 0, 8));
      assertEquals(7, posting.complete());
    }
    List<String> taken = calls.taken();
    assertEquals(taken, withoutData(taken));
  }

  @Test
  void atomicWithoutSgeThrows() {
    try (Posting posting = rc.startPosting()) {
      PostingRequest request = posting.fetchAndAdd(8, 1, 1);
      assertTrue(message(IllegalStateException.class, posting::complete).contains("no SGE"));
      request.local(region, 0, 8);
      posting.compareAndSwap(8, 1, 0, 1);
      assertTrue(message(IllegalStateException.class, posting::send).contains("no SGE"));
      request.local(region, 8, 8);
      assertEquals(2, posting.complete());
    }
  }

  @Test
  void secondTargetThrows() {
    AddressHandle handle = domain.createAddressHandle(AddressVector.local(1, 7));
    AddressHandle foreign =
        device.context.allocateProtectionDomain().createAddressHandle(AddressVector.local(1, 7));
    QueuePair ud = queuePair(QueuePairType.UD, SendOperation.SEND);
    QueuePair xrc =
        queuePair(QueuePairType.XRC_SEND, SendOperation.RDMA_WRITE, SendOperation.LOCAL_INV);
    try (Posting posting = ud.startPosting()) {
      PostingRequest request = posting.send();
      assertTrue(
          message(IllegalArgumentException.class, () -> request.to(foreign, 1, 1))
              .contains("another protection domain"));
      request.to(handle, 1, 1);
      assertThrows(IllegalStateException.class, () -> request.to(handle, 1, 1));
      assertEquals(1, posting.complete());
    }
    try (Posting posting = xrc.startPosting()) {
      PostingRequest request = posting.write(2, 1);
      assertTrue(
          message(IllegalStateException.class, posting::complete).contains("shared receive queue"));
      request.sharedReceiveQueue(1);
      assertThrows(IllegalStateException.class, () -> request.sharedReceiveQueue(1));
      posting.localInvalidate(3);
      assertThrows(IllegalStateException.class, () -> request.sharedReceiveQueue(1));
      assertEquals(2, posting.complete());
    }
  }

  @Test
  void idAndFlagsAreSetAfterTheData() {
    try (Posting posting = rc.startPosting()) {
      posting.write(0x1000, 5).local(region, 8, 16).id(7).signaled();
      assertEquals(1, posting.complete());
    }
    assertCalls(
        "wr_start()",
        "wr_rdma_write(5, 4096) #7/" + rdma_h.IBV_SEND_SIGNALED(),
        "wr_set_sge(%d, %d, 16)".formatted(region.lkey(), buffer.address() + 8),
        "wr_complete()");
  }

  @Test
  void idAndFlagsAfterInlineDataThrow() {
    try (Posting posting = rc.startPosting()) {
      PostingRequest request = posting.send().inline(buffer.asSlice(0, 8));
      assertTrue(message(IllegalStateException.class, () -> request.id(1)).contains("inline"));
      assertTrue(message(IllegalStateException.class, request::signaled).contains("inline"));
      assertEquals(1, posting.complete());
      assertThrows(IllegalStateException.class, () -> request.id(1));
    }
  }

  @Test
  void flagsAreThoseOfOneRequest() {
    try (Posting posting = rc.startPosting()) {
      posting.send().signaled().fenced().solicited().checksum();
      posting.send();
      assertTrue(posting.complete() > 0);
    }
    int all =
        rdma_h.IBV_SEND_SIGNALED()
            | rdma_h.IBV_SEND_FENCE()
            | rdma_h.IBV_SEND_SOLICITED()
            | rdma_h.IBV_SEND_IP_CSUM();
    assertEquals(
        List.of("wr_start()", "wr_send() #0/" + all, "wr_send() #0/0", "wr_complete()"),
        withoutData(calls.taken()));
  }

  @Test
  void closeAborts() {
    try (Posting posting = rc.startPosting()) {
      posting.send();
    }
    assertCalls("wr_start()", "wr_abort()");
    Posting again = rc.startPosting();
    again.send();
    assertTrue(again.complete() > 0);
    again.close();
    again.close();
    assertEquals(
        List.of("wr_start()", "wr_send() #0/0", "wr_complete()"), withoutData(calls.taken()));
  }

  @Test
  void fullQueuePostsNothingAndOtherFailuresThrow() {
    calls.returning("wr_complete", Errno.ENOMEM, -Errno.ENOMEM, Errno.ENOSPC, Errno.EINVAL);
    for (int i = 0; i < 3; i++) {
      try (Posting posting = rc.startPosting()) {
        posting.send();
        assertEquals(0, posting.complete());
      }
    }
    try (Posting posting = rc.startPosting()) {
      posting.send();
      VerbsException e = assertThrows(VerbsException.class, posting::complete);
      assertEquals(Errno.EINVAL, e.errno());
      assertTrue(e.getMessage().contains("1 requests"), e.getMessage());
    }
    assertFalse(calls.taken().contains("wr_abort()"));
    rc.startPosting().close();
  }

  @Test
  void theProviderReplacesAFunction() {
    long[] address = {0};
    calls.noting(
        (function, queuePair) -> {
          address[0] = queuePair;
          return "";
        });
    rc.startPosting().close();
    MemorySegment fullQueue = ibv_qp_ex.wr_complete.allocate(queuePair -> Errno.ENOMEM, arena);
    Memory.putLong(
        address[0] + Abi.current().offsetOf(ibv_qp_ex.layout(), "wr_complete"),
        fullQueue.address());
    assertEquals(0, rc.startPosting().send().complete());
  }

  @Test
  void postingBeforeRtsThrows() {
    calls.returning("wr_complete", Errno.EINVAL, Errno.ENOMEM);
    for (QueuePairState state : List.of(QueuePairState.INIT, QueuePairState.RTR)) {
      device.state(rc, state);
      PostingRequest posting = rc.startPosting().send();
      String message = message(IllegalStateException.class, posting::complete);
      assertTrue(message.contains("in state " + state), message);
    }
  }

  @Test
  void thereIsOnePostingWhichIsUsedAgain() {
    Posting posting = rc.startPosting();
    assertTrue(message(IllegalStateException.class, rc::startPosting).contains("already open"));
    posting.close();
    assertSame(posting, rc.startPosting());
    posting.close();
  }

  @Test
  void settersThrowOutsideOfAPosting() {
    Posting posting = rc.startPosting();
    PostingRequest request = posting.send();
    posting.close();
    for (Executable use :
        List.<Executable>of(
            posting::send,
            request::signaled,
            posting::complete,
            () -> request.id(1),
            () -> request.local(region, 0, 1),
            () -> request.inline(buffer))) {
      assertTrue(message(IllegalStateException.class, use).contains("no open posting"));
    }
    assertTrue(
        message(IllegalStateException.class, queuePair(QueuePairType.RC)::startPosting)
            .contains("without QueuePairBuilder.sendOperations"));
  }

  @Test
  void aPostingBelongsToTheThreadThatStartedIt() {
    try (Posting posting = rc.startPosting()) {
      CompletionException e =
          assertThrows(
              CompletionException.class, () -> CompletableFuture.runAsync(posting::send).join());
      assertTrue(e.getCause() instanceof IllegalStateException, e.toString());
      CompletableFuture.runAsync(posting::close).join();
      posting.send();
      assertEquals(1, posting.complete());
    }
  }

  @Test
  void whileAPostingIsOpenItsQueuePairStaysOpen() {
    SendList list = new SendList(1, 1);
    list.send(0);
    try (Posting posting = rc.startPosting()) {
      posting.send();
      assertTrue(message(IllegalStateException.class, rc::close).contains("posting is open"));
      assertThrows(IllegalStateException.class, domain::close);
      assertTrue(rc.isOpen());
      assertTrue(
          message(IllegalStateException.class, () -> rc.post(list)).contains("posting is open"));
      assertEquals(1, posting.complete());
    }
    rc.close();
    assertThrows(IllegalStateException.class, rc::startPosting);
  }

  @Test
  void aPostingOfAThreadThatEndedIsAborted() throws InterruptedException {
    SendList list = new SendList(1, 1);
    list.send(0);
    List<Executable> others =
        List.of(
            () -> assertEquals(1, rc.post(list)),
            () -> rc.startPosting().close(),
            rc::fail,
            domain::close);
    for (Executable other : others) {
      Thread owner = Thread.ofPlatform().start(() -> rc.startPosting().send());
      owner.join();
      assertDoesNotThrow(other);
      assertEquals(List.of("wr_start()", "wr_abort()"), calls.taken().subList(0, 2));
    }
    assertFalse(rc.isOpen());
  }

  @Test
  void callsThatNeedTheLockThrowDuringAPosting() {
    MemoryWindow window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_1);
    WindowBinding binding = new WindowBinding(region, 0, 8, Set.of(AccessFlag.REMOTE_WRITE));
    window.bind(rc, 1, binding);
    try (Posting posting = rc.startPosting()) {
      posting.send();
      for (Executable use :
          List.<Executable>of(
              () -> window.bind(rc, 2, binding), () -> window.unbind(rc, 3), rc::fail)) {
        assertTrue(message(IllegalStateException.class, use).contains("posting is open"));
      }
      window.bind(queuePair(QueuePairType.RC), 4, binding);
      assertEquals(1, posting.complete());
    }
    window.unbind(rc, 5);
    rc.fail();
  }

  @Test
  void invalidRequestsThrow() {
    MemoryWindow first = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_1);
    WindowBinding binding = new WindowBinding(region, 0, 8, Set.of());
    try (Posting posting = rc.startPosting()) {
      calls.taken();
      assertThrows(IllegalArgumentException.class, () -> posting.tso(buffer, 0));
      assertThrows(IllegalArgumentException.class, () -> posting.tso(buffer, 1000), "RC has none");
      assertThrows(IllegalArgumentException.class, () -> posting.compareAndSwap(4, 1, 0, 0));
      assertThrows(IllegalArgumentException.class, () -> posting.fetchAndAdd(7, 1, 0));
      assertThrows(IllegalArgumentException.class, () -> posting.atomicWrite(9, 1, 0));
      assertThrows(IllegalArgumentException.class, () -> posting.flush(0, 1, -1, Set.of()));
      assertThrows(IllegalArgumentException.class, () -> posting.flushRegion(1, Set.of()));
      assertThrows(RuntimeException.class, () -> posting.bindMemoryWindow(first, 1, binding));
      assertCalls();
    }
  }

  @Test
  void invalidDataThrows() {
    AddressHandle handle = domain.createAddressHandle(AddressVector.local(1, 7));
    ProtectionDomain other = device.context.allocateProtectionDomain();
    MemoryRegion foreign = other.registerMemory(buffer, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
    MemoryWindow window = MemoryWindow.allocate(other, MemoryWindowType.TYPE_2);
    MemoryWindow own = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
    MemorySegment onHeap = MemorySegment.ofArray(new byte[8]);
    Arena gone = Arena.ofConfined();
    MemorySegment freed = gone.allocate(8);
    gone.close();
    try (Posting posting = rc.startPosting()) {
      PostingRequest request = posting.send();
      calls.taken();
      assertThrows(IndexOutOfBoundsException.class, () -> request.local(region, 250, 7));
      assertThrows(IndexOutOfBoundsException.class, () -> request.local(region, -1, 7));
      assertThrows(IllegalArgumentException.class, () -> request.local(foreign, 0, 8));
      assertThrows(
          IllegalArgumentException.class,
          () -> posting.bindMemoryWindow(window, 1, new WindowBinding(region, 0, 8, Set.of())));
      assertThrows(
          IllegalArgumentException.class,
          () -> posting.bindMemoryWindow(own, 1, new WindowBinding(foreign, 0, 8, Set.of())));
      assertThrows(IllegalStateException.class, () -> request.to(handle, 1, 1), "RC has its peer");
      assertThrows(IllegalStateException.class, () -> request.sharedReceiveQueue(1));
      assertCalls();

      request.local(region, 0, 8).local(region, 8, 8);
      assertThrows(IllegalArgumentException.class, () -> request.local(region, 16, 8));
      assertThrows(IllegalStateException.class, () -> request.inline(buffer.asSlice(0, 8)));
      posting.send();
      assertThrows(IllegalArgumentException.class, () -> request.inline(buffer.asSlice(0, 65)));
      assertThrows(IllegalArgumentException.class, () -> request.inline(onHeap));
      assertThrows(IllegalStateException.class, () -> request.inline(freed));
      assertThrows(IllegalStateException.class, () -> request.inline(buffer.asSlice(0, 8), freed));
      request.inline(buffer.asSlice(0, 8));
      assertThrows(IllegalStateException.class, () -> request.local(region, 0, 8));
      assertThrows(IllegalStateException.class, () -> request.inline(buffer.asSlice(0, 8)));
      posting.localInvalidate(3);
      assertThrows(IllegalStateException.class, () -> request.local(region, 0, 8));
      posting.read(1, 1);
      assertThrows(IllegalArgumentException.class, () -> request.inline(buffer.asSlice(0, 8)));
      assertEquals(4, posting.complete(), "what was right is not lost");
    }
  }

  @Test
  void datagramsNeedAnAddress() {
    QueuePair ud = queuePair(QueuePairType.UD, SendOperation.SEND);
    try (Posting posting = ud.startPosting()) {
      posting.send();
      assertTrue(message(IllegalStateException.class, posting::send).contains("address handle"));
      assertThrows(IllegalStateException.class, posting::complete);
    }
    assertTrue(calls.taken().contains("wr_abort()"), "and nothing was posted");
  }

  @Test
  void operationsNotRequestedAtCreationThrow() {
    QueuePair sender = queuePair(QueuePairType.RC, SendOperation.SEND);
    try (Posting posting = sender.startPosting()) {
      assertTrue(
          message(IllegalArgumentException.class, () -> posting.write(1, 1))
              .contains("created with sendOperations([SEND])"));
      posting.send();
      assertEquals(1, posting.complete());
    }
  }
}
