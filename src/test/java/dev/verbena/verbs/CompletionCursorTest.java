package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.fake.RecordingFunctions;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_cq_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.WorkQueueState;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What a cursor asks of C, call by call, and what it refuses before C hears of it. */
class CompletionCursorTest {
  private final RecordingFunctions calls = new RecordingFunctions();
  private final RecordingDevice device = new RecordingDevice(calls);
  private final ExtendedCompletionQueue queue =
      device.context.completionQueue(16).createExtended(CompletionField.values());

  @AfterEach
  void close() {
    device.close();
  }

  @Test
  void cursorReadsOneCompletionAtATime() {
    calls.returning("next_poll", 0, Errno.ENOENT);
    long at = queue.segment().address();
    Memory.putLong(at + Abi.current().offsetOf(ibv_cq_ex.layout(), "wr_id"), 7);
    Memory.putInt(
        at + Abi.current().offsetOf(ibv_cq_ex.layout(), "status"), rdma_h.IBV_WC_WR_FLUSH_ERR());
    try (CompletionCursor cursor = queue.startPolling()) {
      assertTrue(cursor.next());
      assertEquals(7, cursor.id());
      assertEquals(CompletionStatus.WR_FLUSH_ERR, cursor.status());
      assertFalse(cursor.isSuccess());
      assertTrue(cursor.next());
      assertFalse(cursor.next());
      assertFalse(cursor.next(), "and it stays so");
    }
    assertEquals(List.of("start_poll", "next_poll", "next_poll", "end_poll"), names());
  }

  @Test
  void emptyQueueDoesNotCallEndPoll() {
    calls.returning("start_poll", Errno.ENOENT, 0);
    try (CompletionCursor cursor = queue.startPolling()) {
      assertFalse(cursor.next());
      assertTrue(cursor.next(), "asked again, it looks again");
    }
    List<String> names = names();
    assertEquals(List.of("start_poll", "start_poll", "end_poll"), names);
    calls.returning("start_poll", Errno.ENOENT);
    try (CompletionCursor cursor = queue.startPolling()) {
      assertFalse(cursor.next());
    }
    assertEquals(List.of("start_poll"), names(), "C unlocked the queue by itself");
  }

  /** A value, how it is read, and the pointer that it is read through. */
  private record Field(
      String pointer, Object inC, ToLongFunction<CompletionCursor> read, long inJava) {}

  @Test
  void everyValueIsReadByItsFunction() {
    List<Field> fields =
        List.of(
            new Field("read_opcode", rdma_h.IBV_WC_RECV(), c -> c.opcode().code(), 128),
            new Field("read_vendor_err", 0x81, CompletionCursor::vendorError, 0x81),
            new Field("read_byte_len", -1, CompletionCursor::byteLength, 0xffffffffL),
            new Field("read_imm_data", 0x01000000, CompletionCursor::immediate, 1),
            new Field("read_qp_num", 17, CompletionCursor::queuePairNumber, 17),
            new Field("read_src_qp", 18, CompletionCursor::sourceQueuePair, 18),
            new Field("read_slid", 0xffff, CompletionCursor::sourceLid, 0xffff),
            new Field("read_sl", 15, CompletionCursor::serviceLevel, 15),
            new Field("read_dlid_path_bits", 0xff, CompletionCursor::destinationPathBits, 255),
            new Field("read_completion_ts", 5L, CompletionCursor::timestamp, 5),
            new Field("read_completion_wallclock_ns", 6L, CompletionCursor::wallClockTimestamp, 6),
            new Field("read_cvlan", 0xffff, CompletionCursor::vlan, 0xffff),
            new Field("read_flow_tag", 7, CompletionCursor::flowTag, 7));
    for (Field field : fields) {
      calls.returning(field.pointer, field.inC);
      try (CompletionCursor cursor = queue.startPolling()) {
        assertTrue(cursor.next());
        calls.taken();
        assertEquals(field.inJava, field.read.applyAsLong(cursor), field.pointer);
        assertEquals(List.of(field.pointer), names());
      }
    }
    calls.returning("read_wc_flags", rdma_h.IBV_WC_GRH() | rdma_h.IBV_WC_WITH_IMM());
    calls.returning("read_imm_data", 0x77);
    try (CompletionCursor cursor = queue.startPolling()) {
      assertTrue(cursor.next());
      assertTrue(cursor.has(CompletionFlag.WITH_IMM));
      assertFalse(cursor.has(CompletionFlag.WITH_INV));
      assertEquals(0x77, cursor.invalidatedKey(), "C keeps it in the place of immediate data");
      assertEquals(0, cursor.tag());
      assertEquals(0, cursor.tagData());
    }
  }

  @Test
  void failedPollThrowsAndLeavesTheQueueUsable() {
    calls.returning("start_poll", Errno.EINVAL, 0);
    calls.returning("next_poll", Errno.EIO);
    try (CompletionCursor cursor = queue.startPolling()) {
      assertEquals(Errno.EINVAL, assertThrows(VerbsException.class, cursor::next).errno());
      assertTrue(cursor.next());
      assertEquals(Errno.EIO, assertThrows(VerbsException.class, cursor::next).errno());
      assertFalse(cursor.next());
    }
    assertEquals(List.of("start_poll", "start_poll", "next_poll", "end_poll"), names());
  }

  @Test
  void readingOutsideOfACompletionThrows() {
    calls.returning("next_poll", Errno.ENOENT);
    try (CompletionCursor cursor = queue.startPolling()) {
      assertThrows(IllegalStateException.class, cursor::id);
      assertTrue(cursor.next());
      assertFalse(cursor.next());
      for (Executable read :
          List.<Executable>of(cursor::id, cursor::status, cursor::opcode, cursor::tag)) {
        assertThrows(IllegalStateException.class, read);
      }
    }
  }

  @Test
  void secondCursorThrows() {
    CompletionCursor cursor = queue.startPolling();
    assertThrows(IllegalStateException.class, queue::startPolling);
    CompletionException e =
        assertThrows(
            CompletionException.class, () -> CompletableFuture.runAsync(cursor::next).join());
    assertTrue(e.getCause() instanceof IllegalStateException, e.toString());
    assertThrows(CompletionException.class, () -> CompletableFuture.runAsync(cursor::close).join());
    cursor.close();
    cursor.close();
    assertThrows(IllegalStateException.class, cursor::next);
    assertSame(cursor, queue.startPolling());
    cursor.close();
  }

  @Test
  void aQueueIsClosedWhileAnotherThreadPollsItWithoutEnd() throws Exception {
    AtomicInteger polled = new AtomicInteger();
    var polling =
        new FutureTask<>(
            () ->
                assertThrows(
                    IllegalStateException.class,
                    () -> {
                      while (true) {
                        try (CompletionCursor cursor = queue.startPolling()) {
                          cursor.next();
                          polled.incrementAndGet();
                          LockSupport.parkNanos(
                              1_000_000); // The cursor is open almost all the time.
                        }
                      }
                    }));
    Thread.ofPlatform().start(polling);
    Await.until("polling", () -> polled.get() > 10);
    queue.close();
    assertTrue(polling.get().getMessage().endsWith("is closed"));
  }

  @Test
  void queueIsNotClosedWhileItsCursorIsOpen() {
    try (CompletionCursor cursor = queue.startPolling()) {
      assertTrue(cursor.next());
      assertThrows(IllegalStateException.class, queue::close);
      assertThrows(IllegalStateException.class, device.context::close);
      assertTrue(queue.isOpen());
      assertTrue(cursor.next());
    }
    queue.close();
    assertThrows(IllegalStateException.class, queue::startPolling);
  }

  @Test
  void aCursorOfAThreadThatEndedIsClosed() throws InterruptedException {
    List<Executable> others =
        List.of(
            () -> queue.poll(new Completions(1)),
            () -> queue.startPolling().close(),
            () -> queue.resize(32),
            queue::close);
    for (Executable other : others) {
      Thread owner = Thread.ofPlatform().start(() -> queue.startPolling().next());
      owner.join();
      assertDoesNotThrow(other);
      assertEquals(List.of("start_poll", "end_poll"), names().subList(0, 2));
    }
    assertFalse(queue.isOpen());
  }

  @Test
  void callsThatNeedTheLockThrowDuringPolling() {
    ProtectionDomain domain = device.context.allocateProtectionDomain();
    Completions completions = new Completions(4);
    QueuePair pair = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
    WorkQueue work = WorkQueue.builder(domain).completions(queue).create();
    SharedReceiveQueue shared =
        SharedReceiveQueue.builder(domain, 8)
            .tagMatching(queue)
            .maxTags(1)
            .maxTagOperations(1)
            .create();
    List<Executable> uses =
        List.of(
            () -> queue.poll(completions),
            () -> queue.poll(completions, 1),
            () -> queue.resize(32),
            queue::requestNotification,
            pair::reset,
            pair::close,
            () -> work.modify(WorkQueueState.RESET),
            work::close,
            shared::close,
            domain::close);
    try (CompletionCursor cursor = queue.startPolling()) {
      assertTrue(cursor.next());
      for (Executable use : uses) {
        String message = assertThrows(IllegalStateException.class, use).getMessage();
        assertTrue(message.contains("cursor"), message);
      }
      pair.fail();
      assertTrue(pair.isOpen() && work.isOpen() && shared.isOpen() && domain.isOpen());
      assertTrue(cursor.next());
    }
    device.completed = 1;
    assertEquals(1, queue.poll(completions));
    queue.resize(32);
    pair.reset();
    domain.close();
  }

  private List<String> names() {
    return calls.taken().stream().map(call -> call.replaceAll("\\(.*", "")).toList();
  }
}
