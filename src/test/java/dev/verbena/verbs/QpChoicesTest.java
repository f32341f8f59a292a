package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ece;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.ibv_qp_rate_limit_attr;
import dev.verbena.raw.ibv_rwq_ind_table;
import dev.verbena.raw.ibv_rx_hash_conf;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.values.DataInOrder;
import dev.verbena.values.EnhancedConnectionEstablishment;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RateLimit;
import dev.verbena.values.ReceiveHash;
import dev.verbena.values.ReceiveHashField;
import dev.verbena.values.ReceiveHashFunction;
import dev.verbena.values.WorkRequestOpcode;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What queue pairs can be asked for beyond the basics: on a fake, and refused by Soft-RoCE. */
class QpChoicesTest extends FakeDeviceFixture {
  private static final ReceiveHash HASH =
      new ReceiveHash(
          ReceiveHashFunction.TOEPLITZ, new byte[40], Set.of(ReceiveHashField.SRC_IPV4));

  private EnhancedConnectionEstablishment agreed = new EnhancedConnectionEstablishment(0x15b3, 3);
  private int order;
  private int knownOrderFlags = ~0;
  private byte[] hashKey;

  public long create_qp_ex(long context, long attributes) {
    attr = copied(attributes, ibv_qp_init_attr_ex.sizeof());
    MemorySegment hash = ibv_qp_init_attr_ex.rx_hash_conf(attr);
    int length = ibv_rx_hash_conf.rx_hash_key_len(hash);
    if (length > 0) {
      long key = ibv_rx_hash_conf.rx_hash_key(hash).address();
      hashKey = Memory.at(key, length).toArray(ValueLayout.JAVA_BYTE);
    }
    MemorySegment qp = Memory.at(made(ibv_qp.layout(), context), ibv_qp.sizeof());
    ibv_qp.qp_type(qp, ibv_qp_init_attr_ex.qp_type(attr));
    ibv_qp.send_cq(qp, ibv_qp_init_attr_ex.send_cq(attr));
    ibv_qp.recv_cq(qp, ibv_qp_init_attr_ex.recv_cq(attr));
    return qp.address();
  }

  public void ibv_destroy_qp(long qp) {
    gone();
  }

  public void ibv_query_ece(long qp, long ece) {
    ibv_ece.vendor_id(Memory.at(ece, ibv_ece.sizeof()), agreed.vendor());
    ibv_ece.options(Memory.at(ece, ibv_ece.sizeof()), agreed.options());
  }

  public void ibv_set_ece(long qp, long ece) {
    MemorySegment set = Memory.at(ece, ibv_ece.sizeof());
    agreed = new EnhancedConnectionEstablishment(ibv_ece.vendor_id(set), ibv_ece.options(set));
  }

  public int modify_qp_rate_limit(long qp, long attributes) {
    attr = copied(attributes, ibv_qp_rate_limit_attr.sizeof());
    return 0;
  }

  public int ibv_query_qp_data_in_order(long qp, int opcode, int flags) {
    arguments = new long[] {opcode, flags};
    if ((flags & ~knownOrderFlags) != 0) {
      return 0;
    }
    boolean asBits = (flags & rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS()) != 0;
    return asBits ? order : order & rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG();
  }

  public long create_wq(long context, long attributes) {
    MemorySegment wq = Memory.at(made(ibv_wq.layout(), context), ibv_wq.sizeof());
    ibv_wq.post_recv(wq, ibv_wq.post_recv.allocate((queue, wr, bad) -> 0, arena));
    return wq.address();
  }

  public int destroy_wq(long wq) {
    return gone();
  }

  public long create_rwq_ind_table(long context, long attributes) {
    return made(ibv_rwq_ind_table.layout(), context);
  }

  public int destroy_rwq_ind_table(long table) {
    return gone();
  }

  private QueuePairBuilder builder(QueuePairType type) {
    return QueuePair.builder(pd, type).completions(context.createCompletionQueue(4));
  }

  @Test
  void createFlagsAreWritten() {
    builder(QueuePairType.UD)
        .flags(QueuePairFlag.BLOCK_SELF_MCAST_LB, QueuePairFlag.PCI_WRITE_END_PADDING)
        .create();
    int flags =
        rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB() | rdma_h.IBV_QP_CREATE_PCI_WRITE_END_PADDING();
    assertEquals(flags, ibv_qp_init_attr_ex.create_flags(attr));
    assertEquals(
        rdma_h.IBV_QP_INIT_ATTR_PD() | rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS(),
        ibv_qp_init_attr_ex.comp_mask(attr));
    builder(QueuePairType.UD)
        .flags(QueuePairFlag.SCATTER_FCS, QueuePairFlag.CVLAN_STRIPPING)
        .sourceNumber(0x123456)
        .create();
    assertEquals(
        rdma_h.IBV_QP_CREATE_SCATTER_FCS()
            | rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING()
            | rdma_h.IBV_QP_CREATE_SOURCE_QPN(),
        ibv_qp_init_attr_ex.create_flags(attr));
    assertEquals(0x123456, ibv_qp_init_attr_ex.source_qpn(attr));
  }

  @Test
  void maximumTsoHeaderIsWritten() {
    builder(QueuePairType.RAW_PACKET).maxTsoHeader(0xfffe).create();
    assertEquals((short) 0xfffe, ibv_qp_init_attr_ex.max_tso_header(attr));
    assertEquals(
        rdma_h.IBV_QP_INIT_ATTR_PD() | rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER(),
        ibv_qp_init_attr_ex.comp_mask(attr));
  }

  @Test
  void indirectionTableAndHashAreWritten() {
    WorkQueue queue = WorkQueue.builder(pd).completions(context.createCompletionQueue(4)).create();
    ReceiveIndirectionTable table = ReceiveIndirectionTable.create(context, List.of(queue));
    QueuePair qp =
        QueuePair.builder(pd, QueuePairType.RAW_PACKET).receiveSideScaling(table, HASH).create();
    assertEquals(table.segment(), ibv_qp_init_attr_ex.rwq_ind_tbl(attr));
    assertEquals(MemorySegment.NULL, ibv_qp_init_attr_ex.recv_cq(attr));
    assertEquals(
        QueuePairCapacity.NONE,
        QueuePairCapacity.readFrom(ibv_qp_init_attr_ex.cap(attr)),
        "libibverbs refuses others");
    assertEquals(
        rdma_h.IBV_QP_INIT_ATTR_PD()
            | rdma_h.IBV_QP_INIT_ATTR_IND_TABLE()
            | rdma_h.IBV_QP_INIT_ATTR_RX_HASH(),
        ibv_qp_init_attr_ex.comp_mask(attr));
    MemorySegment conf = ibv_qp_init_attr_ex.rx_hash_conf(attr);
    assertEquals(1, ibv_rx_hash_conf.rx_hash_function(conf));
    assertEquals(1, ibv_rx_hash_conf.rx_hash_fields_mask(conf));
    assertEquals(40, hashKey.length);
    hasNoQueues(qp);
    // Even where it is given completion queues, which mlx5 then finds full for ever.
    hasNoQueues(builder(QueuePairType.RAW_PACKET).receiveSideScaling(table, HASH).create());
    table.close();
    assertFalse(qp.isOpen(), "closed before its table");
  }

  private static void hasNoQueues(QueuePair spreading) {
    ReceiveList receives = new ReceiveList(1, 0);
    SendList sends = new SendList(1, 0);
    sends.send(0);
    for (Executable post :
        List.<Executable>of(
            () -> spreading.post(receives), () -> spreading.post(sends), spreading::startPosting)) {
      String message = assertThrows(IllegalStateException.class, post).getMessage();
      assertTrue(message.contains("queue of its own"), message);
    }
  }

  @Test
  void eceOptionsAreQueriedAndSet() {
    QueuePair qp = builder(QueuePairType.RC).flags(QueuePairFlag.SCATTER_FCS).create();
    assertEquals(new EnhancedConnectionEstablishment(0x15b3, 3), qp.enhancedConnection());
    qp.enhancedConnection(new EnhancedConnectionEstablishment(0x15b3, 1));
    assertEquals(new EnhancedConnectionEstablishment(0x15b3, 1), qp.enhancedConnection());
  }

  @Test
  void rateLimitIsModified() {
    QueuePair qp = builder(QueuePairType.RC).flags(QueuePairFlag.SCATTER_FCS).create();
    qp.limitRate(
        RateLimit.ofKilobitsPerSecond(0xffff_ffffL)
            .withMaxBurst(16_384)
            .withTypicalPacketSize(1500));
    assertEquals(-1, ibv_qp_rate_limit_attr.rate_limit(attr));
    assertEquals(16_384, ibv_qp_rate_limit_attr.max_burst_sz(attr));
    assertEquals(1500, ibv_qp_rate_limit_attr.typical_pkt_sz(attr));
    assertThrows(IllegalArgumentException.class, () -> RateLimit.ofKilobitsPerSecond(1L << 32));
    assertThrows(IllegalArgumentException.class, () -> RateLimit.ofKilobitsPerSecond(-1));
    assertThrows(
        IllegalArgumentException.class, () -> RateLimit.ofKilobitsPerSecond(1).withMaxBurst(-1));
    assertThrows(
        IllegalArgumentException.class,
        () -> RateLimit.ofKilobitsPerSecond(1).withTypicalPacketSize(1 << 16));
  }

  @Test
  void dataInOrderIsQueried() {
    QueuePair qp = builder(QueuePairType.RC).flags(QueuePairFlag.SCATTER_FCS).create();
    order = 3;
    assertEquals(
        Set.of(DataInOrder.WHOLE_MSG, DataInOrder.ALIGNED_128_BYTES),
        qp.dataInOrder(WorkRequestOpcode.RDMA_WRITE));
    assertEquals(WorkRequestOpcode.RDMA_WRITE.code(), arguments[0]);
    assertEquals(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS(), arguments[1]);
    order = rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES();
    assertEquals(
        Set.of(DataInOrder.ALIGNED_128_BYTES), qp.dataInOrderOfDevice(WorkRequestOpcode.RDMA_READ));
    assertEquals(
        rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS()
            | rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY(),
        arguments[1]);
  }

  /**
   * {@code mlx5_query_qp_data_in_order} of rdma-core 44 returns 0 for any flag, {@code
   * ibv_query_qp_data_in_order} of 46 to 59 for {@code IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY}.
   */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void dataInOrderIsQueriedOfOldLibraries(int flagsKnown) {
    QueuePair qp = builder(QueuePairType.RC).flags(QueuePairFlag.SCATTER_FCS).create();
    Set<DataInOrder> all = Set.of(DataInOrder.WHOLE_MSG, DataInOrder.ALIGNED_128_BYTES);
    knownOrderFlags = flagsKnown;
    order = 3;
    assertEquals(all, qp.dataInOrder(WorkRequestOpcode.RDMA_WRITE));
    assertEquals(all, qp.dataInOrderOfDevice(WorkRequestOpcode.RDMA_WRITE));
    order = 0;
    assertEquals(Set.of(), qp.dataInOrder(WorkRequestOpcode.RDMA_WRITE));
    assertEquals(Set.of(), qp.dataInOrderOfDevice(WorkRequestOpcode.RDMA_WRITE));
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceDoesNotSupportThem() {
    try (Pair pair = new Pair()) {
      CompletionQueue queue = pair.a.completionQueue;
      for (QueuePairBuilder builder :
          List.of(
              pair.a.builder(QueuePairType.UD).flags(QueuePairFlag.BLOCK_SELF_MCAST_LB),
              pair.a.builder(QueuePairType.UD).sourceNumber(0x1234),
              pair.a.builder(QueuePairType.UD).maxTsoHeader(64))) {
        Refusal.of(builder::create, "UD");
      }
      Refusal.of(() -> WorkQueue.builder(pair.a.domain).completions(queue).create());
    }
  }
}
