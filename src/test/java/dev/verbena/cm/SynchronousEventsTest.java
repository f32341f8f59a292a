package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Background;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What becomes of the events that C waits for by itself, over a played librdmacm. */
class SynchronousEventsTest {
  private final FakeRdmacm cm = new FakeRdmacm();
  private final ConnectionId id = SynchronousMode.createId(cm.rdmacm, PortSpace.TCP);

  @BeforeEach
  void listen() {
    cm.play("rdma_listen", arguments -> {});
    id.listen(1);
  }

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
  void requestIsAcknowledged() {
    MemorySegment asking = cm.id(rdma_h.RDMA_PS_TCP());
    MemorySegment event = request(asking);
    cm.play(
        "rdma_get_request",
        arguments -> {
          Memory.putLong((long) arguments[1], asking.address());
          rdma_cm_id.event(asking, event);
        });
    ConnectionId request = id.takeRequest();
    assertEquals(List.of(event.address()), cm.acknowledged);
    assertEquals(0, rdma_cm_id.event(asking).address(), "C would acknowledge it again");
    ConnectionEvent last = request.lastEvent().orElseThrow();
    assertEquals(EventType.CONNECT_REQUEST, last.type());
    assertEquals(id, last.listener().orElseThrow());
    assertArrayEquals(new byte[] {7}, last.privateData());
    id.close();
    request.close();
    assertEquals(asking.address(), cm.destroyed.getLast());
  }

  /** Leaving a group waits until the event of its joining is acknowledged. */
  @Test
  void eventsAreAcknowledged() {
    rdma_cm_id.verbs(id.nativeId().struct(), MemorySegment.ofAddress(1));
    MemorySegment event =
        cm.event(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), -Errno.ETIMEDOUT, id.segment());
    cm.play(
        "rdma_connect",
        arguments -> {
          rdma_cm_id.event(id.nativeId().struct(), event);
          throw new VerbsException("rdma_connect", Errno.ETIMEDOUT);
        });
    assertThrows(VerbsException.class, id::connect);
    assertEquals(List.of(event.address()), cm.acknowledged);
    assertEquals(
        0, rdma_cm_id.event(id.nativeId().struct()).address(), "C would acknowledge it again");
    assertEquals(EventType.UNREACHABLE, id.lastEvent().orElseThrow().type());
  }

  @Test
  void requestWithoutQueuePairIsRejected() {
    MemorySegment asking = cm.id(rdma_h.RDMA_PS_TCP());
    MemorySegment event = request(asking);
    cm.play(
        "rdma_get_request",
        arguments -> {
          rdma_cm_id.event(id.nativeId().struct(), event);
          throw new VerbsException("rdma_get_request", Errno.ENOMEM);
        });
    assertThrows(VerbsException.class, id::takeRequest);
    assertEquals(List.of(asking.address()), cm.destroyed);
    assertEquals(List.of(event.address()), cm.acknowledged);
  }

  @Test
  void closeThrowsWhileAThreadWaits() throws Exception {
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
    FutureTask<ConnectionId> taking = Background.inBackground(() -> id.takeRequest());
    inside.await();
    var refused = assertThrows(IllegalStateException.class, id::close);
    assertTrue(refused.getMessage().contains("waits"), refused.getMessage());
    assertTrue(id.isOpen(), "half closed");
    assertEquals(List.of(), cm.destroyed);
    try (EventChannel channel = cm.channel()) {
      assertThrows(IllegalStateException.class, () -> id.migrate(channel));
    }
    outcome.countDown();
    assertThrows(ExecutionException.class, taking::get);
    id.close();
    assertEquals(1, cm.destroyed.size());
  }

  /** rdma_get_request would wait for ever, and nothing could end it. */
  @Test
  void takeRequestNeedsAListener() {
    cm.play(
        "rdma_get_request",
        arguments -> {
          throw new AssertionError("waits for ever");
        });
    try (ConnectionId deaf = SynchronousMode.createId(cm.rdmacm, PortSpace.TCP)) {
      var refused = assertThrows(IllegalStateException.class, deaf::takeRequest);
      assertTrue(refused.getMessage().contains("listen"), refused.getMessage());
    }
  }

  /** Both would wait for one event, and acknowledge it twice. */
  @Test
  void secondCallThrowsWhileAThreadWaits() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch outcome = new CountDownLatch(1);
    cm.play(
        "rdma_resolve_addr",
        arguments -> {
          inside.countDown();
          awaitUninterruptibly(outcome);
        });
    InetSocketAddress peer = new InetSocketAddress("10.0.0.1", 7471);
    try (ConnectionId client = SynchronousMode.createId(cm.rdmacm, PortSpace.TCP)) {
      FutureTask<Void> resolving =
          Background.inBackground(
              () -> {
                client.resolveAddress(null, peer, PeerProgram.SOON);
                return null;
              });
      inside.await();
      for (int i = 0; i < 2; i++) {
        var refused =
            assertThrows(
                IllegalStateException.class,
                () -> client.resolveAddress(null, peer, PeerProgram.SOON));
        assertTrue(refused.getMessage().contains("waits in librdmacm"), refused.getMessage());
      }
      assertEquals(1, cm.calls.stream().filter("rdma_resolve_addr"::equals).count());
      outcome.countDown();
      resolving.get();
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
