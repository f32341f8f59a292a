package dev.verbena.internal;

import static dev.verbena.testing.Need.ADDRESSES;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.calls.CompletionQueueCalls;
import dev.verbena.internal.calls.CriticalCalls;
import dev.verbena.internal.calls.NativeCompletionQueueCalls;
import dev.verbena.internal.calls.NativeQueuePairCalls;
import dev.verbena.internal.calls.QueuePairCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.ibv_gid;
import dev.verbena.raw.ibv_global_route;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_cap;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The seam alone against a real kernel: two devices, one reliable connection, every kind of
 * transfer.
 */
@Needs(ADDRESSES)
class SeamOnDeviceTest {
  private static final int SIZE = 10_000;
  private static final int GID_INDEX = 1; // IPv4 in the lab
  private static final int ACCESS =
      rdma_h.IBV_ACCESS_LOCAL_WRITE()
          | rdma_h.IBV_ACCESS_REMOTE_READ()
          | rdma_h.IBV_ACCESS_REMOTE_WRITE();

  /** Asked for in tests only: the class must load where there is no library. */
  private static Verbs verbs() {
    return Providers.system().verbs();
  }

  @DeviceTest
  void sendsReceivesWritesAndReadsOverTheWire() {
    try (Arena arena = Arena.ofShared();
        Context contextA = Rig.a().open();
        Context contextB = Rig.b().open()) {
      End a = new End(arena, contextA.segment().address());
      End b = new End(arena, contextB.segment().address());
      try {
        a.connect(b);
        b.connect(a);
        long packets = packetsOnTheWire();

        byte[] sent = a.fill("sent");
        b.postReceive(1);
        a.post(2, rdma_h.IBV_WR_SEND(), b);
        assertEquals(2, a.complete());
        assertEquals(1, b.complete());
        assertArrayEquals(sent, b.bytes());

        byte[] written = a.fill("written");
        a.post(3, rdma_h.IBV_WR_RDMA_WRITE(), b);
        assertEquals(3, a.complete());
        assertArrayEquals(written, b.bytes());

        byte[] offered = b.fill("to be read");
        a.post(4, rdma_h.IBV_WR_RDMA_READ(), b);
        assertEquals(4, a.complete());
        assertArrayEquals(offered, a.bytes());

        if (Rig.labGuest().isPresent()) {
          // Three messages of ten packets each: the devices are two, and the wire is between them.
          assertTrue(packetsOnTheWire() - packets >= 30, "packets crossed the wire");
        }
      } finally {
        a.destroy();
        b.destroy();
      }
    }
  }

  private static long packetsOnTheWire() {
    Path counter = Path.of("/sys/class/net/va/statistics/tx_packets");
    Path back = Path.of("/sys/class/net/va/statistics/rx_packets");
    if (!Files.exists(counter)) {
      return 0;
    }
    try {
      return Long.parseLong(Files.readString(counter).strip())
          + Long.parseLong(Files.readString(back).strip());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One end of the connection, made with nothing but the seam. */
  private static final class End {
    private final Arena arena;
    private final long context;
    private final long pd;
    private final long cq;
    private final long qp;
    private final long mr;
    private final MemorySegment buffer;
    private final QueuePairCalls queuePair;
    private final CompletionQueueCalls completions;

    End(Arena arena, long context) {
      this.arena = arena;
      this.context = context;
      this.pd = verbs().ibv_alloc_pd(context);
      this.cq = verbs().ibv_create_cq(context, 16, 0, 0, 0);
      this.buffer = arena.allocate(SIZE);
      this.mr = verbs().__ibv_reg_mr(pd, buffer.address(), SIZE, ACCESS);
      MemorySegment init = ibv_qp_init_attr.allocate(arena);
      ibv_qp_init_attr.qp_type(init, rdma_h.IBV_QPT_RC());
      ibv_qp_init_attr.send_cq(init, MemorySegment.ofAddress(cq));
      ibv_qp_init_attr.recv_cq(init, MemorySegment.ofAddress(cq));
      ibv_qp_init_attr.sq_sig_all(init, 1);
      MemorySegment cap = ibv_qp_init_attr.cap(init);
      ibv_qp_cap.max_send_wr(cap, 4);
      ibv_qp_cap.max_recv_wr(cap, 4);
      ibv_qp_cap.max_send_sge(cap, 1);
      ibv_qp_cap.max_recv_sge(cap, 1);
      this.qp = verbs().ibv_create_qp(pd, init.address());
      this.queuePair = new NativeQueuePairCalls(qp, new CriticalCalls(false));
      this.completions = new NativeCompletionQueueCalls(cq, new CriticalCalls(false));
    }

    private int number() {
      return ibv_qp.qp_num(Memory.at(qp, ibv_qp.sizeof()));
    }

    private MemorySegment region() {
      return Memory.at(mr, ibv_mr.sizeof());
    }

    void connect(End peer) {
      MemorySegment attr = ibv_qp_attr.allocate(arena);
      ibv_qp_attr.qp_state(attr, rdma_h.IBV_QPS_INIT());
      ibv_qp_attr.port_num(attr, (byte) 1);
      ibv_qp_attr.qp_access_flags(attr, ACCESS);
      modify(
          attr,
          rdma_h.IBV_QP_STATE()
              | rdma_h.IBV_QP_PKEY_INDEX()
              | rdma_h.IBV_QP_PORT()
              | rdma_h.IBV_QP_ACCESS_FLAGS());

      ibv_qp_attr.qp_state(attr, rdma_h.IBV_QPS_RTR());
      ibv_qp_attr.path_mtu(attr, rdma_h.IBV_MTU_1024());
      ibv_qp_attr.dest_qp_num(attr, peer.number());
      ibv_qp_attr.max_dest_rd_atomic(attr, (byte) 1);
      ibv_qp_attr.min_rnr_timer(attr, (byte) 12);
      MemorySegment ah = ibv_qp_attr.ah_attr(attr);
      ibv_ah_attr.is_global(ah, (byte) 1);
      ibv_ah_attr.port_num(ah, (byte) 1);
      MemorySegment grh = ibv_ah_attr.grh(ah);
      MemorySegment gid = ibv_gid.allocate(arena);
      verbs().ibv_query_gid(peer.context, (byte) 1, GID_INDEX, gid.address());
      ibv_global_route.dgid(grh, gid);
      ibv_global_route.sgid_index(grh, (byte) GID_INDEX);
      ibv_global_route.hop_limit(grh, (byte) 64);
      modify(
          attr,
          rdma_h.IBV_QP_STATE()
              | rdma_h.IBV_QP_AV()
              | rdma_h.IBV_QP_PATH_MTU()
              | rdma_h.IBV_QP_DEST_QPN()
              | rdma_h.IBV_QP_RQ_PSN()
              | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()
              | rdma_h.IBV_QP_MIN_RNR_TIMER());

      ibv_qp_attr.qp_state(attr, rdma_h.IBV_QPS_RTS());
      ibv_qp_attr.timeout(attr, (byte) 14);
      ibv_qp_attr.retry_cnt(attr, (byte) 7);
      ibv_qp_attr.rnr_retry(attr, (byte) 7);
      ibv_qp_attr.max_rd_atomic(attr, (byte) 1);
      modify(
          attr,
          rdma_h.IBV_QP_STATE()
              | rdma_h.IBV_QP_TIMEOUT()
              | rdma_h.IBV_QP_RETRY_CNT()
              | rdma_h.IBV_QP_RNR_RETRY()
              | rdma_h.IBV_QP_SQ_PSN()
              | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC());
    }

    private void modify(MemorySegment attr, int mask) {
      verbs().ibv_modify_qp(qp, attr.address(), mask);
    }

    byte[] fill(String word) {
      byte[] bytes = word.repeat(SIZE / word.length() + 1).getBytes(StandardCharsets.US_ASCII);
      bytes = Arrays.copyOf(bytes, SIZE);
      MemorySegment.copy(bytes, 0, buffer, ValueLayout.JAVA_BYTE, 0, SIZE);
      return bytes;
    }

    byte[] bytes() {
      return buffer.toArray(ValueLayout.JAVA_BYTE);
    }

    private MemorySegment entry() {
      MemorySegment sge = ibv_sge.allocate(arena);
      ibv_sge.addr(sge, buffer.address());
      ibv_sge.length(sge, SIZE);
      ibv_sge.lkey(sge, ibv_mr.lkey(region()));
      return sge;
    }

    void postReceive(long id) {
      MemorySegment wr = ibv_recv_wr.allocate(arena);
      ibv_recv_wr.wr_id(wr, id);
      ibv_recv_wr.sg_list(wr, entry());
      ibv_recv_wr.num_sge(wr, 1);
      assertEquals(0, queuePair.ibv_post_recv(wr.address(), arena.allocate(8).address()));
    }

    void post(long id, int opcode, End peer) {
      MemorySegment wr = ibv_send_wr.allocate(arena);
      ibv_send_wr.wr_id(wr, id);
      ibv_send_wr.sg_list(wr, entry());
      ibv_send_wr.num_sge(wr, 1);
      ibv_send_wr.opcode(wr, opcode);
      MemorySegment remote = ibv_send_wr.wr.rdma(ibv_send_wr.wr(wr));
      ibv_send_wr.wr.rdma.remote_addr(remote, peer.buffer.address());
      ibv_send_wr.wr.rdma.rkey(remote, ibv_mr.rkey(peer.region()));
      assertEquals(0, queuePair.ibv_post_send(wr.address(), arena.allocate(8).address()));
    }

    /** Waits for one successful completion and returns its id. */
    long complete() {
      MemorySegment wc = ibv_wc.allocate(arena);
      Await.until("a completion", () -> completions.ibv_poll_cq(1, wc.address()) != 0);
      assertEquals(rdma_h.IBV_WC_SUCCESS(), ibv_wc.status(wc));
      return ibv_wc.wr_id(wc);
    }

    void destroy() {
      verbs().ibv_destroy_qp(qp);
      verbs().ibv_dereg_mr(mr);
      verbs().ibv_destroy_cq(cq);
      verbs().ibv_dealloc_pd(pd);
    }
  }
}
