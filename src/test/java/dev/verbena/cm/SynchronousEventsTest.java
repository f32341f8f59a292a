package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of the events that C waits for by itself, over a played librdmacm (P-11). */
@Timeout(60)
class SynchronousEventsTest {
  private final PlayedCm cm = new PlayedCm();
  private final ConnectionId id = SynchronousMode.createId(cm.rdmacm, PortSpace.TCP);

  @AfterEach
  void close() {
    id.close();
    cm.close();
  }

  /** A request that C has made an identifier for, with one byte of private data. */
  private MemorySegment request(MemorySegment asking) {
    MemorySegment event = cm.event(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0, asking);
    MemorySegment conn = rdma_cm_event.param.conn(rdma_cm_event.param(event));
    rdma_conn_param.private_data(conn, cm.bytes((byte) 7));
    rdma_conn_param.private_data_len(conn, (byte) 1);
    return event;
  }

  @Test
  @DisplayName(
      "S2-C14: a request's event is acknowledged at once: its listener can be closed first")
  void requestIsAcknowledged() {
    MemorySegment asking = cm.id(rdma_h.RDMA_PS_TCP());
    MemorySegment event = request(asking);
    cm.play(
        "rdma_get_request",
        arguments -> {
          Memory.putLong((long) arguments[1], asking.address());
          rdma_cm_id.event(asking, event);
        });
    ConnectionId request = id.synchronous().takeRequest();
    assertEquals(List.of(event.address()), cm.acknowledged);
    assertEquals(0, rdma_cm_id.event(asking).address(), "C would acknowledge it again");
    ConnectionEvent last = request.synchronous().lastEvent().orElseThrow();
    assertEquals(EventType.CONNECT_REQUEST, last.type());
    assertEquals(id, last.listener().orElseThrow());
    assertArrayEquals(new byte[] {7}, last.privateData());
    id.close();
    request.close();
    assertEquals(asking.address(), cm.destroyed.getLast());
  }

  /** Leaving a group waits until the event of its joining is acknowledged. */
  @Test
  @DisplayName("the event that a call waited for is acknowledged when the call returns, or fails")
  void eventsAreAcknowledged() {
    rdma_cm_id.verbs(id.struct(), MemorySegment.ofAddress(1));
    MemorySegment event =
        cm.event(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), -Errno.ETIMEDOUT, id.segment());
    cm.play(
        "rdma_connect",
        arguments -> {
          rdma_cm_id.event(id.struct(), event);
          throw new VerbsException("rdma_connect", Errno.ETIMEDOUT);
        });
    assertThrows(VerbsException.class, id::connect);
    assertEquals(List.of(event.address()), cm.acknowledged);
    assertEquals(0, rdma_cm_id.event(id.struct()).address(), "C would acknowledge it again");
    assertEquals(EventType.UNREACHABLE, id.synchronous().lastEvent().orElseThrow().type());
  }

  @Test
  @DisplayName("a request that C could not equip with a queue pair is refused, not forgotten")
  void requestThatCannotBeEquipped() {
    MemorySegment asking = cm.id(rdma_h.RDMA_PS_TCP());
    MemorySegment event = request(asking);
    cm.play(
        "rdma_get_request",
        arguments -> {
          rdma_cm_id.event(id.struct(), event);
          throw new VerbsException("rdma_get_request", Errno.ENOMEM);
        });
    assertThrows(VerbsException.class, id.synchronous()::takeRequest);
    assertEquals(List.of(asking.address()), cm.destroyed);
    assertEquals(List.of(event.address()), cm.acknowledged);
  }

  @Test
  @DisplayName("nobody can close an identifier that a thread waits in C for")
  void closingIsRefused() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch outcome = new CountDownLatch(1);
    cm.play(
        "rdma_get_request",
        arguments -> {
          inside.countDown();
          try {
            outcome.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          throw new VerbsException("rdma_get_request", Errno.ENODEV);
        });
    FutureTask<ConnectionId> taking =
        ConnectionTest.inBackground(() -> id.synchronous().takeRequest());
    inside.await();
    var refused = assertThrows(IllegalStateException.class, id::close);
    assertTrue(refused.getMessage().contains("waits"), refused.getMessage());
    assertTrue(id.isOpen(), "half closed");
    assertEquals(List.of(), cm.destroyed);
    try (EventChannel channel = cm.channel()) {
      assertThrows(IllegalStateException.class, () -> id.migrate(channel));
    }
    outcome.countDown();
    assertThrows(Exception.class, () -> taking.get(20, TimeUnit.SECONDS));
    id.close();
    assertEquals(1, cm.destroyed.size());
  }
}
