package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.rdma_ud_param;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who joins a group leaves it, over a played librdmacm. */
class JoinedGroupsTest {
  private static final InetSocketAddress GROUP = new InetSocketAddress("239.7.8.9", 0);
  private static final InetSocketAddress OTHER = new InetSocketAddress("239.7.8.10", 0);

  private final FakeRdmacm cm = new FakeRdmacm();
  private final EventChannel channel = cm.channel();
  private final List<Long> contexts = new CopyOnWriteArrayList<>();

  @BeforeEach
  void play() {
    cm.play("rdma_join_multicast", arguments -> contexts.add((long) arguments[2]));
    cm.play("rdma_join_multicast_ex", arguments -> contexts.add((long) arguments[2]));
    cm.play("rdma_leave_multicast", arguments -> {});
  }

  @AfterEach
  void close() {
    channel.close();
    cm.close();
  }

  private ConnectionId bound() {
    ConnectionId id = channel.createId(PortSpace.UDP);
    rdma_cm_id.verbs(id.nativeId().struct(), MemorySegment.ofAddress(1));
    return id;
  }

  private List<String> leavingAndDestroying() {
    return cm.calls.stream().filter(c -> c.contains("leave") || c.contains("destroy_id")).toList();
  }

  @Test
  void closingLeaves() {
    ConnectionId id = bound();
    id.multicast().join(GROUP, 1);
    id.multicast().join(GROUP, JoinFlag.FULLMEMBER, 2);
    id.multicast().join(OTHER, 3);
    id.multicast().leave(OTHER);
    assertEquals(List.of("rdma_leave_multicast"), leavingAndDestroying());
    id.close();
    assertEquals(
        List.of(
            "rdma_leave_multicast",
            "rdma_leave_multicast",
            "rdma_leave_multicast",
            "rdma_destroy_id"),
        leavingAndDestroying());
  }

  @Test
  void removedGroupsDoNotPreventClosing() {
    ConnectionId id = bound();
    id.multicast().join(GROUP, 1);
    cm.play(
        "rdma_leave_multicast",
        arguments -> {
          throw new VerbsException("rdma_leave_multicast", Errno.ENODEV);
        });
    id.close();
    assertEquals(List.of("rdma_leave_multicast", "rdma_destroy_id"), leavingAndDestroying());
  }

  /** As MulticastTest sees it of the kernel, whose answers are late only under load. */
  @Test
  void lateEventOfAnAbandonedJoinIsIgnored() throws Exception {
    MemorySegment asking = cm.id(rdma_h.RDMA_PS_UDP());
    rdma_cm_id.verbs(asking, MemorySegment.ofAddress(1));
    MemorySegment request = cm.event(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0, asking);
    rdma_cm_event.listen_id(request, bound().segment());
    try (Endpoint endpoint = Endpoint.requested(channel.poll(), () -> {})) {
      assertThrows(
          RdmaTimeoutException.class,
          () -> endpoint.joinMulticast(GROUP, JoinFlag.FULLMEMBER, Duration.ofMillis(50)));
      assertEquals(List.of("rdma_leave_multicast"), leavingAndDestroying());

      FutureTask<DatagramParameters> joining =
          Background.inBackground(
              () -> endpoint.joinMulticast(OTHER, JoinFlag.FULLMEMBER, Await.LIMIT));
      Await.until("two requests to join", () -> contexts.size() == 2);
      answer(asking, contexts.get(0), 100);
      answer(asking, contexts.get(1), 200);
      cm.wake();
      assertEquals(200, joining.get().queueKey());
      cm.calm();
    }
  }

  private void answer(MemorySegment id, long context, int queueKey) {
    MemorySegment event = cm.event(rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN(), 0, id);
    MemorySegment ud = rdma_cm_event.param.ud(rdma_cm_event.param(event));
    rdma_ud_param.private_data(ud, MemorySegment.ofAddress(context));
    ibv_ah_attr.port_num(rdma_ud_param.ah_attr(ud), (byte) 1);
    rdma_ud_param.qkey(ud, queueKey);
  }
}
