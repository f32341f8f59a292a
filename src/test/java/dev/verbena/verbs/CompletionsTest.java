package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Polling, and what completions tell. */
class CompletionsTest {
  private final RecordingDevice device = new RecordingDevice();
  private final CompletionQueue queue = device.context.createCompletionQueue(16);
  private final Completions completions = new Completions(4);

  @AfterEach
  void close() {
    device.close();
  }

  @Test
  void pollReturnsZeroOnEmptyQueue() {
    assertEquals(0, queue.poll(completions));
    assertEquals(0, completions.count());
    assertThrows(IndexOutOfBoundsException.class, () -> completions.id(0));
  }

  @Test
  void exceptionHasTheFieldsOfTheFailedCompletion() {
    device.completed = 2;
    device.status = rdma_h.IBV_WC_REM_ACCESS_ERR();
    queue.poll(completions);
    WorkRequestException failed = new WorkRequestException("writing", completions, 1);
    assertEquals(1, failed.id());
    assertEquals(17, failed.queuePairNumber());
    assertEquals(CompletionStatus.REM_ACCESS_ERR, failed.status());
    assertEquals(rdma_h.IBV_WC_REM_ACCESS_ERR(), failed.statusCode());
    assertEquals(0x81, failed.vendorError());
    assertEquals("writing: " + completions.describe(1), failed.getMessage());
    WorkRequestException later = new WorkRequestException("sending", failed);
    assertEquals("sending: " + completions.describe(1), later.getMessage());
    assertEquals(failed, later.getCause());
    assertEquals(failed.id(), later.id());
    assertEquals(failed.queuePairNumber(), later.queuePairNumber());
    assertEquals(failed.status(), later.status());
    assertEquals(failed.statusCode(), later.statusCode());
    assertEquals(failed.vendorError(), later.vendorError());
  }

  @ParameterizedTest
  @EnumSource(CompletionStatus.class)
  void failureOfThePeerOrTheNetworkIsTransient(CompletionStatus status) {
    device.completed = 1;
    device.status = status.code();
    queue.poll(completions);
    Set<CompletionStatus> expected =
        EnumSet.of(
            CompletionStatus.RETRY_EXC_ERR,
            CompletionStatus.RNR_RETRY_EXC_ERR,
            CompletionStatus.RESP_TIMEOUT_ERR,
            CompletionStatus.WR_FLUSH_ERR,
            CompletionStatus.REM_ABORT_ERR);
    assertEquals(
        expected.contains(status),
        new WorkRequestException("sending", completions, 0).isTransient());
  }

  @Test
  void fieldsAreReadInPlace() {
    device.completed = 3;
    device.completionOpcode = rdma_h.IBV_WC_RECV();
    device.byteLength = 0x80000000;
    device.immediate = 0x01020304;
    device.completionFlags = rdma_h.IBV_WC_WITH_IMM() | rdma_h.IBV_WC_GRH();
    assertEquals(3, queue.poll(completions));
    assertEquals(3, completions.count());
    assertEquals(2, completions.id(2));
    assertTrue(completions.isSuccess(0));
    assertEquals(CompletionStatus.SUCCESS, completions.status(0));
    assertEquals(CompletionOpcode.RECV, completions.opcode(0));
    assertTrue(completions.isReceive(0));
    assertEquals(1L << 31, completions.byteLength(0));
    assertEquals(0x01020304, completions.immediate(0));
    assertEquals(0x04030201, completions.invalidatedKey(0));
    assertEquals(17, completions.queuePairNumber(0));
    assertEquals(18, completions.sourceQueuePair(0));
    assertEquals(0xfffe, completions.sourceLid(0));
    assertEquals(0, completions.serviceLevel(0));
    assertEquals(0, completions.destinationPathBits(0));
    assertEquals(0, completions.pkeyIndex(0));
    assertTrue(completions.has(0, CompletionFlag.WITH_IMM));
    assertFalse(completions.has(0, CompletionFlag.IP_CSUM_OK));
    assertEquals(2, completions.flags(0).size());
    assertThrows(IndexOutOfBoundsException.class, () -> completions.status(3));
    assertThrows(IndexOutOfBoundsException.class, () -> completions.status(-1));
  }

  @Test
  void aFailureIsDescribed() {
    device.completed = 1;
    device.status = rdma_h.IBV_WC_RETRY_EXC_ERR();
    queue.poll(completions);
    assertFalse(completions.isSuccess(0));
    assertEquals(0x81, completions.vendorError(0));
    String text = completions.describe(0);
    assertTrue(text.contains("transport retry counter exceeded"), text);
    assertTrue(text.contains("queue pair 0x11") && text.contains("0x81"), text);
  }

  @Test
  void aLimitHolds() {
    device.completed = 4;
    assertEquals(1, queue.poll(completions, 1));
    assertEquals(0, queue.poll(completions, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> queue.poll(completions, 5));
    assertThrows(IndexOutOfBoundsException.class, () -> queue.poll(completions, -1));
    assertThrows(IllegalArgumentException.class, () -> new Completions(0));
  }

  @Test
  void failedPollThrows() {
    device.pollResult = -2;
    VerbsException e = assertThrows(VerbsException.class, () -> queue.poll(completions));
    assertEquals("ibv_poll_cq", e.function());
    assertEquals(0, completions.count());
  }

  @Test
  void pollOfAClosedQueueThrows() {
    queue.close();
    assertThrows(IllegalStateException.class, () -> queue.poll(completions));
  }

  @Test
  void textsAreThoseOfRdmaCore() {
    String texts =
        "success; local length error; local QP operation error; local EE context operation error;"
            + " local protection error; Work Request Flushed Error; memory management operation"
            + " error; bad response error; local access error; remote invalid request error; remote"
            + " access error; remote operation error; transport retry counter exceeded; RNR retry"
            + " counter exceeded; local RDD violation error; remote invalid RD request; aborted"
            + " error; invalid EE context number; invalid EE context state; fatal error; response"
            + " timeout error; general error; TM error; TM software rendezvous";
    String[] expected = texts.split("; ", -1);
    for (int code = 0; code < expected.length; code++) {
      assertEquals(expected[code], CompletionStatus.of(code).text());
      assertEquals(code, CompletionStatus.of(code).code());
    }
    assertEquals(CompletionStatus.UNKNOWN, CompletionStatus.of(expected.length));
    assertEquals(CompletionStatus.UNKNOWN, CompletionStatus.of(-1));
  }

  @Test
  void opcodesAreFoundByNumber() {
    for (CompletionOpcode opcode : CompletionOpcode.values()) {
      assertEquals(opcode, CompletionOpcode.of(opcode.code()));
    }
    assertEquals(CompletionOpcode.UNKNOWN, CompletionOpcode.of(8 + 3));
    assertEquals(CompletionOpcode.UNKNOWN, CompletionOpcode.of(1000));
  }
}
