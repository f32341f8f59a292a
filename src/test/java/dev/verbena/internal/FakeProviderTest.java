package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.fake.FakeProvider;
import dev.verbena.internal.calls.CriticalCalls;
import dev.verbena.internal.calls.NativeCompletionQueueCalls;
import dev.verbena.internal.calls.NativeQueuePairCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.Readiness;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.ibv_comp_channel;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_cap;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The seam alone, through real function pointers, on any machine. */
class FakeProviderTest {
  private static final int SIZE = 256;
  private static final int ALL_ACCESS =
      rdma_h.IBV_ACCESS_LOCAL_WRITE()
          | rdma_h.IBV_ACCESS_REMOTE_WRITE()
          | rdma_h.IBV_ACCESS_REMOTE_READ()
          | rdma_h.IBV_ACCESS_REMOTE_ATOMIC();

  private final Arena arena = Arena.ofShared();
  private final FakeProvider provider = new FakeProvider();
  private final Verbs verbs = provider.verbs();
  private final MemorySegment near = arena.allocate(SIZE, 8);
  private final MemorySegment far = arena.allocate(SIZE, 8);
  private final MemorySegment wc = ibv_wc.allocateArray(16, arena);
  private final long bad = arena.allocate(ValueLayout.JAVA_LONG).address();
  private long context;
  private long pd;
  private long channel;
  private long cq;
  private long nearMr;
  private long farMr;
  private long nearQp;
  private long farQp;

  @BeforeEach
  void open() {
    long list = verbs.ibv_get_device_list(0);
    context = verbs.ibv_open_device(Memory.getLong(list));
    verbs.ibv_free_device_list(list);
    pd = verbs.ibv_alloc_pd(context);
    channel = verbs.ibv_create_comp_channel(context);
    cq = verbs.ibv_create_cq(context, 64, 0, channel, 0);
    nearMr = verbs.ibv_reg_mr(pd, near.address(), SIZE, ALL_ACCESS);
    farMr = verbs.ibv_reg_mr(pd, far.address(), SIZE, ALL_ACCESS);
    nearQp = queuePair();
    farQp = queuePair();
    connect(nearQp, farQp);
    connect(farQp, nearQp);
    for (int i = 0; i < SIZE; i++) {
      near.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 7));
    }
  }

  @AfterEach
  void close() {
    verbs.ibv_destroy_qp(nearQp);
    verbs.ibv_destroy_qp(farQp);
    verbs.ibv_dereg_mr(nearMr);
    verbs.ibv_dereg_mr(farMr);
    verbs.ibv_destroy_cq(cq);
    verbs.ibv_destroy_comp_channel(channel);
    verbs.ibv_dealloc_pd(pd);
    verbs.ibv_close_device(context);
    provider.close();
    arena.close();
  }

  private long queuePair() {
    MemorySegment init = ibv_qp_init_attr.allocate(arena);
    ibv_qp_init_attr.send_cq(init, MemorySegment.ofAddress(cq));
    ibv_qp_init_attr.recv_cq(init, MemorySegment.ofAddress(cq));
    ibv_qp_init_attr.qp_type(init, rdma_h.IBV_QPT_RC());
    MemorySegment cap = ibv_qp_init_attr.cap(init);
    ibv_qp_cap.max_send_wr(cap, 8);
    ibv_qp_cap.max_recv_wr(cap, 8);
    ibv_qp_cap.max_send_sge(cap, 2);
    ibv_qp_cap.max_recv_sge(cap, 2);
    ibv_qp_cap.max_inline_data(cap, 64);
    return verbs.ibv_create_qp(pd, init.address());
  }

  private void connect(long qp, long peer) {
    MemorySegment attr = ibv_qp_attr.allocate(arena);
    ibv_qp_attr.qp_access_flags(attr, ALL_ACCESS);
    ibv_qp_attr.port_num(attr, (byte) 1);
    ibv_qp_attr.dest_qp_num(
        attr, dev.verbena.raw.ibv_qp.qp_num(Memory.at(peer, dev.verbena.raw.ibv_qp.sizeof())));
    ibv_qp_attr.rnr_retry(attr, (byte) 7);
    ibv_qp_attr.path_mtu(attr, rdma_h.IBV_MTU_1024());
    ibv_qp_attr.max_rd_atomic(attr, (byte) 1);
    ibv_qp_attr.max_dest_rd_atomic(attr, (byte) 1);
    ibv_qp_attr.timeout(attr, (byte) 14);
    ibv_qp_attr.min_rnr_timer(attr, (byte) 1);
    ibv_qp_attr.retry_cnt(attr, (byte) 7);
    MemorySegment path = ibv_qp_attr.ah_attr(attr);
    ibv_ah_attr.port_num(path, (byte) 1);
    ibv_ah_attr.is_global(path, (byte) 1);
    verbs.ibv_query_gid(context, (byte) 1, 0, ibv_ah_attr.grh(path).address());
    ibv_qp_attr.qp_state(attr, rdma_h.IBV_QPS_INIT());
    int state = rdma_h.IBV_QP_STATE();
    verbs.ibv_modify_qp(
        qp,
        attr.address(),
        state | rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT() | rdma_h.IBV_QP_ACCESS_FLAGS());
    ibv_qp_attr.qp_state(attr, rdma_h.IBV_QPS_RTR());
    verbs.ibv_modify_qp(
        qp,
        attr.address(),
        state
            | rdma_h.IBV_QP_AV()
            | rdma_h.IBV_QP_PATH_MTU()
            | rdma_h.IBV_QP_DEST_QPN()
            | rdma_h.IBV_QP_RQ_PSN()
            | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()
            | rdma_h.IBV_QP_MIN_RNR_TIMER());
    ibv_qp_attr.qp_state(attr, rdma_h.IBV_QPS_RTS());
    verbs.ibv_modify_qp(
        qp,
        attr.address(),
        state
            | rdma_h.IBV_QP_SQ_PSN()
            | rdma_h.IBV_QP_TIMEOUT()
            | rdma_h.IBV_QP_RETRY_CNT()
            | rdma_h.IBV_QP_RNR_RETRY()
            | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC());
  }

  private static int lkey(long mr) {
    return ibv_mr.lkey(Memory.at(mr, ibv_mr.sizeof()));
  }

  private static int rkey(long mr) {
    return ibv_mr.rkey(Memory.at(mr, ibv_mr.sizeof()));
  }

  private MemorySegment sge(long address, int length, int key) {
    MemorySegment sge = ibv_sge.allocate(arena);
    ibv_sge.addr(sge, address);
    ibv_sge.length(sge, length);
    ibv_sge.lkey(sge, key);
    return sge;
  }

  private MemorySegment request(int opcode, int length, int key) {
    MemorySegment wr = ibv_send_wr.allocate(arena);
    ibv_send_wr.wr_id(wr, opcode + 100);
    ibv_send_wr.sg_list(wr, sge(near.address(), length, key));
    ibv_send_wr.num_sge(wr, 1);
    ibv_send_wr.opcode(wr, opcode);
    ibv_send_wr.send_flags(wr, rdma_h.IBV_SEND_SIGNALED());
    return wr;
  }

  private MemorySegment remote(int opcode, int length, long address, int key) {
    MemorySegment wr = request(opcode, length, lkey(nearMr));
    MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(wr));
    ibv_send_wr.wr.rdma.remote_addr(rdma, address);
    ibv_send_wr.wr.rdma.rkey(rdma, key);
    return wr;
  }

  private int post(MemorySegment wr) {
    return new NativeQueuePairCalls(nearQp, new CriticalCalls(false))
        .ibv_post_send(wr.address(), bad);
  }

  private int receive(long wrId) {
    MemorySegment wr = ibv_recv_wr.allocate(arena);
    ibv_recv_wr.wr_id(wr, wrId);
    ibv_recv_wr.sg_list(wr, sge(far.address(), SIZE, lkey(farMr)));
    ibv_recv_wr.num_sge(wr, 1);
    return new NativeQueuePairCalls(farQp, new CriticalCalls(false))
        .ibv_post_recv(wr.address(), bad);
  }

  /** Takes what completed, once everything is done that can be. */
  private int poll() {
    provider.internals().settle();
    return new NativeCompletionQueueCalls(cq, new CriticalCalls(false))
        .ibv_poll_cq(16, wc.address());
  }

  private MemorySegment completion(int index) {
    return ibv_wc.asSlice(wc, index);
  }

  private void assertSameBytes(int length) {
    provider.internals().settle();
    assertArrayEquals(
        near.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE),
        far.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
  }

  @Test
  void sendCompletesPostedReceive() {
    assertEquals(0, receive(1));
    assertEquals(0, post(request(rdma_h.IBV_WR_SEND(), 100, lkey(nearMr))));
    assertEquals(2, poll());
    assertSameBytes(100);
    assertEquals(0, far.get(ValueLayout.JAVA_BYTE, 101));
    assertEquals(1, ibv_wc.wr_id(completion(0)));
    assertEquals(rdma_h.IBV_WC_RECV(), ibv_wc.opcode(completion(0)));
    assertEquals(100, ibv_wc.byte_len(completion(0)));
    assertEquals(rdma_h.IBV_WC_SEND(), ibv_wc.opcode(completion(1)));
    assertEquals(0, poll());
  }

  @Test
  void sendWaitsForItsReceive() {
    assertEquals(0, post(request(rdma_h.IBV_WR_SEND(), 10, lkey(nearMr))));
    assertEquals(0, poll());
    assertEquals(0, receive(1));
    Await.until("a message after an RNR NAK", () -> Memory.getByte(far.address() + 9) != 0);
    assertEquals(2, poll());
    assertSameBytes(10);
  }

  @Test
  void writesAndReadsMemory() {
    long address = far.address();
    assertEquals(0, post(remote(rdma_h.IBV_WR_RDMA_WRITE(), SIZE, address, rkey(farMr))));
    assertSameBytes(SIZE);
    far.set(ValueLayout.JAVA_BYTE, 3, (byte) 99);
    assertEquals(0, post(remote(rdma_h.IBV_WR_RDMA_READ(), SIZE, address, rkey(farMr))));
    assertSameBytes(SIZE);
    assertEquals(99, near.get(ValueLayout.JAVA_BYTE, 3));
    assertEquals(2, poll());
    assertEquals(rdma_h.IBV_WC_RDMA_READ(), ibv_wc.opcode(completion(1)));
  }

  @Test
  void addsAtomically() {
    far.set(ValueLayout.JAVA_LONG, 0, 40);
    MemorySegment wr = request(rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD(), Long.BYTES, lkey(nearMr));
    MemorySegment atomic = ibv_send_wr.wr.atomic(ibv_send_wr.wr(wr));
    ibv_send_wr.wr.atomic.remote_addr(atomic, far.address());
    ibv_send_wr.wr.atomic.rkey(atomic, rkey(farMr));
    ibv_send_wr.wr.atomic.compare_add(atomic, 2);
    assertEquals(0, post(wr));
    assertEquals(1, poll());
    assertEquals(42, far.get(ValueLayout.JAVA_LONG, 0));
    assertEquals(40, near.get(ValueLayout.JAVA_LONG, 0));
  }

  @Test
  void wrongKeysFailAndFlush() {
    assertEquals(0, receive(5));
    long address = far.address();
    MemorySegment wr = remote(rdma_h.IBV_WR_RDMA_WRITE(), 1, address + SIZE, rkey(farMr));
    assertEquals(0, post(wr));
    assertEquals(2, poll());
    assertEquals(rdma_h.IBV_WC_WR_FLUSH_ERR(), ibv_wc.status(completion(0)));
    assertEquals(rdma_h.IBV_WC_REM_ACCESS_ERR(), ibv_wc.status(completion(1)));
    assertEquals(0, post(request(rdma_h.IBV_WR_SEND(), 1, lkey(nearMr))));
    assertEquals(1, poll());
    assertEquals(rdma_h.IBV_WC_WR_FLUSH_ERR(), ibv_wc.status(completion(0)));
  }

  @Test
  void wrongLocalKeyFails() {
    assertEquals(0, post(request(rdma_h.IBV_WR_SEND(), 1, 0x1234)));
    assertEquals(1, poll());
    assertEquals(rdma_h.IBV_WC_LOC_PROT_ERR(), ibv_wc.status(completion(0)));
  }

  @Test
  void fullQueueReturnsEnomem() {
    provider.internals().hold();
    MemorySegment wr = request(rdma_h.IBV_WR_SEND(), 1, lkey(nearMr));
    for (int i = 0; i < 8; i++) {
      assertEquals(0, post(wr));
    }
    assertEquals(Errno.ENOMEM, post(wr));
    assertEquals(wr.address(), Memory.getLong(bad));
    provider.internals().release();
  }

  @Test
  void inlineDataNeedsNoKey() {
    MemorySegment wr = request(rdma_h.IBV_WR_SEND(), 64, 0);
    ibv_send_wr.send_flags(wr, rdma_h.IBV_SEND_INLINE() | rdma_h.IBV_SEND_SIGNALED());
    assertEquals(0, receive(1));
    assertEquals(0, post(wr));
    assertEquals(2, poll());
    assertSameBytes(64);
    ibv_send_wr.sg_list(wr, sge(near.address(), 65, 0));
    assertEquals(Errno.EINVAL, post(wr));
  }

  @Test
  void raisesCompletionEvents() throws Exception {
    int fd = ibv_comp_channel.fd(Memory.at(channel, ibv_comp_channel.sizeof()));
    try (Readiness readiness = Readiness.of(fd)) {
      assertFalse(readiness.isReadable());
      assertEquals(
          0, new NativeCompletionQueueCalls(cq, new CriticalCalls(false)).ibv_req_notify_cq(0));
      assertEquals(0, receive(1));
      assertEquals(0, post(request(rdma_h.IBV_WR_SEND(), 1, lkey(nearMr))));
      assertTrue(readiness.await(Await.LIMIT.toNanos()));
    }
    MemorySegment event = arena.allocate(2L * Long.BYTES, Long.BYTES);
    verbs.ibv_get_cq_event(channel, event.address(), event.address() + Long.BYTES);
    assertEquals(cq, event.get(ValueLayout.JAVA_LONG, 0));
    verbs.ibv_ack_cq_events(cq, 1);
    assertEquals(2, poll());
  }

  @Test
  void objectInUseIsNotDestroyed() {
    assertEquals(
        Errno.EBUSY, assertThrows(VerbsException.class, () -> verbs.ibv_destroy_cq(cq)).errno());
    assertEquals(
        Errno.EBUSY, assertThrows(VerbsException.class, () -> verbs.ibv_dealloc_pd(pd)).errno());
  }

  @Test
  void unimplementedFunctionIsUnsupported() {
    assertTrue(
        assertThrows(VerbsException.class, () -> verbs.ibv_create_flow_action_esp(context, 1))
            .isUnsupported());
    assertTrue(
        assertThrows(VerbsException.class, () -> verbs.ibv_import_pd(context, 1)).isUnsupported());
  }

  /**
   * A fake function that a test adds: called through the pointers of contexts that are opened
   * afterwards.
   */
  static final class DeviceMemoryPart {
    private long asked;

    public long alloc_dm(long context, long attr) {
      asked = attr;
      if (attr == 1) {
        throw new VerbsException("alloc_dm", Errno.ENOMEM);
      }
      return 0x1234;
    }
  }

  @Test
  void testsCanAddFunctions() {
    var part = new DeviceMemoryPart();
    provider.play(part);
    long list = verbs.ibv_get_device_list(0);
    long other = verbs.ibv_open_device(Memory.getLong(list));
    verbs.ibv_free_device_list(list);
    assertEquals(0x1234, verbs.ibv_alloc_dm(other, 77));
    assertEquals(77, part.asked);
    VerbsException e = assertThrows(VerbsException.class, () -> verbs.ibv_alloc_dm(other, 1));
    assertEquals(Errno.ENOMEM, e.errno());
    verbs.ibv_close_device(other);
  }
}
