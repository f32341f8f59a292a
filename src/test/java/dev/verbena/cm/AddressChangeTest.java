package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import dev.verbena.testing.LoggedMessages;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A network interface whose hardware address changes, over a fake librdmacm. */
class AddressChangeTest {
  private final FakeRdmacm cm = new FakeRdmacm();
  private final EventChannel channel = cm.channel();
  private final MemorySegment id = cm.id(rdma_h.RDMA_PS_TCP());

  @BeforeEach
  void play() {
    cm.play("rdma_disconnect", arguments -> {});
  }

  @AfterEach
  void close() {
    channel.close();
    cm.close();
  }

  private Endpoint endpoint() {
    ConnectionId listener = channel.createId(PortSpace.TCP);
    rdma_cm_id.verbs(id, MemorySegment.ofAddress(1));
    MemorySegment request = cm.event(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0, id);
    rdma_cm_event.listen_id(request, listener.segment());
    return Endpoint.requested(channel.poll(), () -> {});
  }

  @Test
  void isLoggedAndDoesNotEndTheConnectionByDefault() throws Exception {
    try (LoggedMessages log = new LoggedMessages("dev.verbena", Level.ALL, "ADDR_CHANGE");
        Endpoint endpoint = endpoint()) {
      cm.event(rdma_h.RDMA_CM_EVENT_ADDR_CHANGE(), 0, id);
      cm.wake();
      String logged = log.next();
      assertTrue(logged.contains("the connection continues"), logged);
      assertEquals(Optional.empty(), endpoint.end());
      cm.calm();
    }
  }

  @Test
  void endsTheConnectionIfItIsSet() throws Exception {
    try (LoggedMessages log = new LoggedMessages("dev.verbena", Level.ALL, "ADDR_CHANGE");
        Endpoint endpoint = endpoint()) {
      endpoint.onAddressChange(AddressChange.END);
      cm.event(rdma_h.RDMA_CM_EVENT_ADDR_CHANGE(), 0, id);
      cm.wake();
      String logged = log.next();
      assertTrue(logged.contains("the connection ends"), logged);
      Await.until("the end", () -> endpoint.end().isPresent());
      assertEquals(EventType.ADDR_CHANGE, endpoint.end().orElseThrow().type());
      Await.until("the disconnect", () -> cm.calls.contains("rdma_disconnect"));
      cm.calm();
    }
  }
}
