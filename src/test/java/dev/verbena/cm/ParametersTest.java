package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.Deadline;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** What is asked for in Java reaches C as it was meant, and what cannot be meant is refused. */
class ParametersTest {
  @Test
  void connectionParametersAreWrittenAndRead() {
    ConnectionParameters asked =
        ConnectionParameters.DEFAULT
            .withReadDepth(254)
            .withInitiatorDepth(3)
            .withFlowControl()
            .withRetryCount(5)
            .withRnrRetryCount(6)
            .withSharedReceiveQueue()
            .withQueuePairNumber(0xfedcba98);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment param = rdma_conn_param.allocate(arena);
      asked.writeTo(param);
      assertEquals((byte) 254, rdma_conn_param.responder_resources(param));
      assertEquals(0xfedcba98, rdma_conn_param.qp_num(param));
      assertEquals(asked, ConnectionParameters.readFrom(param));
    }
    ConnectionParameters usual = ConnectionParameters.DEFAULT;
    assertEquals(6, usual.retryCount(), "Soft-RoCE takes 7 for without end");
    assertEquals(ConnectionParameters.MAXIMUM, usual.initiatorDepth());
    assertThrows(IllegalArgumentException.class, () -> usual.withReadDepth(256));
    assertThrows(IllegalArgumentException.class, () -> usual.withRetryCount(-1));
    assertThrows(IllegalArgumentException.class, () -> usual.withRnrRetryCount(8));
  }

  @Test
  void codesRoundTrip() {
    for (EventType type : EventType.values()) {
      assertEquals(type, EventType.of(type.code()));
    }
    assertEquals(EventType.UNKNOWN, EventType.of(4711));
    assertEquals(RejectReason.INVALID_SERVICE_ID, RejectReason.of(8));
    assertEquals(RejectReason.CONSUMER_DEFINED, RejectReason.of(28));
    assertEquals(RejectReason.UNKNOWN, RejectReason.of(34));
    for (PortSpace space : PortSpace.values()) {
      assertEquals(space, PortSpace.of(space.code()));
    }
    assertThrows(IllegalArgumentException.class, () -> PortSpace.of(1));
  }

  @Test
  void remoteMemoryRoundTripsAndChecksItsRange() {
    RemoteMemory memory = RemoteMemory.at(0x0102_0304_0506_0708L, 4096, 0xcafe);
    byte[] bytes = memory.toBytes();
    assertEquals(RemoteMemory.SIZE, bytes.length);
    assertEquals(
        "01000000" + "0000cafe" + "0102030405060708" + "0000000000001000",
        HexFormat.of().formatHex(bytes));
    bytes[0] = 2;
    var later = assertThrows(IllegalArgumentException.class, () -> RemoteMemory.fromBytes(bytes));
    assertTrue(later.getMessage().contains("version 2"), later.getMessage());
    bytes[0] = 1;
    assertEquals(memory, RemoteMemory.fromBytes(Arrays.copyOf(bytes, 56)));
    assertEquals(memory.address() + 4000, memory.addressOf(4000, 96));
    assertThrows(IndexOutOfBoundsException.class, () -> memory.addressOf(4000, 97));
    assertEquals(
        "remote memory of 4096 bytes at 0x102030405060708, rkey 0xcafe", memory.toString());
    assertThrows(IllegalArgumentException.class, () -> RemoteMemory.fromBytes(new byte[23]));
    assertThrows(IllegalArgumentException.class, () -> RemoteMemory.at(0, -1, 0));
  }

  @Test
  void deadlinesCountDown() {
    assertTrue(Deadline.after(Duration.ZERO).isOver());
    assertEquals(Long.MAX_VALUE, Deadline.NEVER.remainingNanos());
    assertEquals(Long.MAX_VALUE, Deadline.after(Deadline.FOR_EVER).remainingNanos());
    assertTrue(Deadline.after(Duration.ofDays(1)).remainingNanos() > 0);
    assertThrows(IllegalArgumentException.class, () -> Deadline.after(Duration.ofMillis(-1)));
  }
}
