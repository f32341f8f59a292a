package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Background;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Identifiers that move from one channel to another, over a played librdmacm. */
class HandoverTest {
  private static final int EMFILE = 24;

  private final FakeRdmacm cm = new FakeRdmacm();
  private final EventChannel source = cm.channel();

  @AfterEach
  void close() {
    source.close();
    cm.close();
  }

  private ConnectionEvent request() {
    ConnectionId listener = source.createId(PortSpace.TCP);
    MemorySegment asking = cm.id(rdma_h.RDMA_PS_TCP());
    MemorySegment event = cm.event(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0, asking);
    rdma_cm_event.listen_id(event, listener.segment());
    return source.poll();
  }

  @Test
  void identifierBelongsToTheChannelItMigratedTo() {
    ConnectionId id = source.createId(PortSpace.TCP);
    EventChannel target = cm.channel();
    id.migrate(target);
    assertSame(target, id.channel().orElseThrow());
    cm.event(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), 0, id.segment());
    assertSame(id, target.poll().id());
    source.close();
    assertTrue(id.isOpen(), "closed with a channel that it had left");
    target.close();
    assertFalse(id.isOpen(), "survived its channel");
  }

  @Test
  void failedMigrationKeepsTheChannel() {
    for (RuntimeException failure :
        List.of(
            new VerbsException("rdma_migrate_id", Errno.EINVAL),
            new IllegalStateException("closed meanwhile"))) {
      ConnectionId id = source.createId(PortSpace.TCP);
      cm.play(
          "rdma_migrate_id",
          arguments -> {
            throw failure;
          });
      try (EventChannel target = cm.channel()) {
        assertThrows(failure.getClass(), () -> id.migrate(target));
      }
      assertTrue(id.isOpen(), "closed with a channel that it never belonged to");
      assertSame(source, id.channel().orElseThrow());
    }
    source.close();
    assertEquals(2, cm.destroyed.size(), "they survived their channel");
  }

  @Test
  void closedIdentifierDoesNotMigrate() {
    ConnectionId id = source.createId(PortSpace.TCP);
    id.close();
    EventChannel target = cm.channel();
    assertThrows(IllegalStateException.class, () -> id.migrate(target));
    target.close();
    assertFalse(cm.calls.contains("rdma_migrate_id"), "C was called with freed memory");
  }

  /** Closing a channel that keeps a closed identifier for its child would never end. */
  @Test
  void listenerClosedDuringHandoverClosesTheRequest() throws Exception {
    ConnectionEvent request = request();
    cm.play("rdma_create_event_channel", arguments -> source.close());
    FutureTask<Endpoint> handingOver =
        Background.inBackground(() -> Endpoint.requested(request, () -> {}));
    var closed = assertThrows(ExecutionException.class, handingOver::get).getCause();
    assertEquals(IllegalStateException.class, closed.getClass());
    assertFalse(request.id().isOpen());
    assertEquals(2, cm.destroyed.size(), "the request and the listener");
  }

  @Test
  void closingAChannelWaitsForAMigration() throws Exception {
    ConnectionId id = source.createId(PortSpace.TCP);
    EventChannel target = cm.channel();
    FutureTask<Void> closing = new FutureTask<>(source::close, null);
    cm.play(
        "rdma_migrate_id",
        arguments -> {
          Thread.ofPlatform().start(closing);
          while (source.isOpen()) {
            Thread.onSpinWait();
          }
          assertFalse(cm.calls.contains("rdma_destroy_event_channel"), "freed while C uses it");
        });
    try {
      id.migrate(target);
    } catch (IllegalStateException closed) {
      assertTrue(closed.getMessage().contains("is closed"), closed.getMessage());
    }
    closing.get();
    target.close();
    assertFalse(id.isOpen());
    assertEquals(1, cm.destroyed.size());
  }

  /** rdma_create_id writes to the channel's descriptor. */
  @Test
  void closingAChannelWaitsForTheCreationOfAnIdentifier() throws Exception {
    FutureTask<Void> closing = new FutureTask<>(source::close, null);
    cm.play(
        "rdma_create_id",
        arguments -> {
          Thread closer = Thread.ofPlatform().start(closing);
          while (closer.getState() != Thread.State.TIMED_WAITING && closer.isAlive()) {
            Thread.onSpinWait();
          }
          assertFalse(cm.calls.contains("rdma_destroy_event_channel"), "freed while C uses it");
        });
    ConnectionId id = source.createId(PortSpace.TCP);
    closing.get();
    assertFalse(id.isOpen());
    assertEquals(1, cm.destroyed.size());
    assertEquals("rdma_destroy_event_channel", cm.calls.getLast());
  }

  @Test
  void requestIsRejectedIfNoChannelCanBeOpened() {
    ConnectionEvent request = request();
    cm.play(
        "rdma_create_event_channel",
        arguments -> {
          throw new VerbsException("rdma_create_event_channel", EMFILE);
        });
    var refused = assertThrows(VerbsException.class, () -> Endpoint.requested(request, () -> {}));
    assertEquals(EMFILE, refused.errno());
    assertFalse(request.id().isOpen(), "neither refused nor closed");
    assertEquals(1, cm.destroyed.size());
  }

  @Test
  void requestIsRejectedIfItCannotMigrate() {
    ConnectionEvent request = request();
    cm.play(
        "rdma_migrate_id",
        arguments -> {
          throw new VerbsException("rdma_migrate_id", Errno.EINVAL);
        });
    assertThrows(VerbsException.class, () -> Endpoint.requested(request, () -> {}));
    assertFalse(request.id().isOpen(), "neither refused nor closed");
    assertEquals(1, cm.destroyed.size());
    // The thread that waits for events may read from the channel until it is closed.
    List<String> others =
        cm.calls.stream().filter(call -> !call.equals("rdma_get_cm_event")).toList();
    assertEquals(
        List.of("rdma_destroy_id", "rdma_destroy_event_channel"),
        others.subList(others.size() - 2, others.size()));
    assertEquals("rdma_destroy_event_channel", cm.calls.getLast());
    assertNull(source.poll());
  }

  @Test
  void channelOfEndpointsIsNotReturned() {
    try (Endpoint endpoint = Endpoint.requested(request(), () -> {})) {
      assertEquals(Optional.empty(), endpoint.id().channel());
    }
  }
}
