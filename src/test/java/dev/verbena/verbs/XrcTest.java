package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.Mtu;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_ex;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.ibv_qp_open_attr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.ibv_srq;
import dev.verbena.raw.ibv_srq_init_attr_ex;
import dev.verbena.raw.ibv_xrcd;
import dev.verbena.raw.ibv_xrcd_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import dev.verbena.values.SendOperation;
import dev.verbena.values.SharedReceiveQueueType;
import dev.verbena.values.XrcDomainFlag;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/**
 * Extended reliable connections (XRC) against a fake: domains, and the shared receive queues and
 * queue pairs that are numbered, passed on and opened again.
 */
class XrcTest extends FakeDeviceFixture {
  private static final int NUMBER = 0x1234;

  private final List<Integer> masks = new ArrayList<>();
  @TempDir Path files;
  private Path opened;
  private VerbsException refusal;
  private int state;
  private MemorySegment posted;
  private final List<String> built = new ArrayList<>();

  public long open_xrcd(long context, long attributes) throws IOException {
    attr = copied(attributes, ibv_xrcd_init_attr.sizeof());
    int descriptor = ibv_xrcd_init_attr.fd(attr);
    opened =
        descriptor < 0 ? null : Path.of("/proc/self/fd", Integer.toString(descriptor)).toRealPath();
    if (refusal != null) {
      throw refusal;
    }
    return made(ibv_xrcd.layout(), context);
  }

  public int close_xrcd(long xrcd) {
    return gone();
  }

  public long create_srq_ex(long context, long attributes) {
    attr = copied(attributes, ibv_srq_init_attr_ex.sizeof());
    return made(ibv_srq.layout(), context);
  }

  public int get_srq_num(long srq, long number) {
    Memory.putInt(number, NUMBER);
    return 0;
  }

  public void ibv_destroy_srq(long srq) {
    gone();
  }

  public long create_qp_ex(long context, long attributes) {
    attr = copied(attributes, ibv_qp_init_attr_ex.sizeof());
    MemorySegment qp = queuePair(context, ibv_qp_init_attr_ex.qp_type(attr));
    ibv_qp.send_cq(qp, ibv_qp_init_attr_ex.send_cq(attr));
    ibv_qp_ex.wr_start(qp, ibv_qp_ex.wr_start.allocate(at -> built.add("start"), arena));
    ibv_qp_ex.wr_send(qp, ibv_qp_ex.wr_send.allocate(at -> built.add("send"), arena));
    ibv_qp_ex.wr_set_xrc_srqn(
        qp, ibv_qp_ex.wr_set_xrc_srqn.allocate((at, srqn) -> built.add("srqn " + srqn), arena));
    ibv_qp_ex.wr_set_sge_list(
        qp, ibv_qp_ex.wr_set_sge_list.allocate((at, n, list) -> built.add("data " + n), arena));
    ibv_qp_ex.wr_complete(qp, ibv_qp_ex.wr_complete.allocate(at -> complete(), arena));
    return qp.address();
  }

  /** Like mlx5, which never sees a request to which target or data is not set; but says so. */
  private int complete() {
    boolean whole = built.contains("srqn " + NUMBER) && built.contains("data 0");
    return whole ? 0 : Errno.EINVAL;
  }

  private MemorySegment queuePair(long context, int type) {
    MemorySegment qp = Memory.at(made(ibv_qp_ex.layout(), context), ibv_qp_ex.layout().byteSize());
    ibv_qp.qp_num(qp, 0x99);
    ibv_qp.qp_type(qp, type);
    ibv_qp.state(qp, rdma_h.IBV_QPS_RTS());
    return qp;
  }

  public long ibv_qp_to_qp_ex(long qp) {
    return qp;
  }

  public long open_qp(long context, long attributes) {
    attr = copied(attributes, ibv_qp_open_attr.sizeof());
    return queuePair(context, rdma_h.IBV_QPT_XRC_RECV()).address();
  }

  public void ibv_destroy_qp(long qp) {
    gone();
  }

  public void ibv_modify_qp(long qp, long attributes, int mask) {
    attr = copied(attributes, ibv_qp_attr.sizeof());
    state = ibv_qp_attr.qp_state(attr);
    masks.add(mask);
  }

  public void ibv_query_qp(long qp, long attributes, int mask, long initAttributes) {
    ibv_qp_attr.qp_state(Memory.at(attributes, ibv_qp_attr.sizeof()), state);
  }

  public int post_send(long qp, long wr, long bad) {
    posted = copied(wr, ibv_send_wr.sizeof());
    return 0;
  }

  @Test
  void domainsAreOpened() throws IOException {
    Path file = file();
    XrcDomain own = XrcDomain.open(context);
    assertEquals(-1, ibv_xrcd_init_attr.fd(attr));
    assertEquals(0x40, ibv_xrcd_init_attr.oflags(attr), "O_CREAT");
    XrcDomain shared = XrcDomain.open(context, file, XrcDomainFlag.CREAT, XrcDomainFlag.EXCL);
    assertEquals(file, opened);
    assertEquals(0x40 | 0x80, ibv_xrcd_init_attr.oflags(attr), "O_CREAT and O_EXCL");
    XrcDomain.open(context, file);
    assertEquals(0, ibv_xrcd_init_attr.oflags(attr));
    assertEquals(
        rdma_h.IBV_XRCD_INIT_ATTR_FD() | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS(),
        ibv_xrcd_init_attr.comp_mask(attr));
    own.close();
    own.close();
    assertFalse(own.isOpen());
    assertTrue(shared.isOpen());
    assertThrows(IllegalStateException.class, () -> QueuePair.builder(own).create());
  }

  /** {@code ib_uverbs_open_xrcd} of the kernel keeps the inode, not the descriptor. */
  @Test
  void theFileOfADomainIsClosedAgain() throws IOException {
    Path file = file();
    XrcDomain.open(context, file, XrcDomainFlag.CREAT);
    assertEquals(file, opened);
    assertEquals(0, Descriptors.of(file));
    refusal = new VerbsException("ibv_open_xrcd", Errno.EINVAL);
    var thrown = assertThrows(VerbsException.class, () -> XrcDomain.open(context, file));
    assertTrue(thrown.getMessage().contains(file.toString()), thrown.getMessage());
    assertEquals(0, Descriptors.of(file));
  }

  @Test
  void aFileThatCannotBeOpenedIsNamed() {
    Path none = files.resolve("none");
    var thrown = assertThrows(VerbsException.class, () -> XrcDomain.open(context, none));
    assertEquals(Errno.ENOENT, thrown.errno());
    assertEquals("open", thrown.function());
    assertTrue(thrown.getMessage().contains(none.toString()), thrown.getMessage());
  }

  private Path file() throws IOException {
    return Files.createTempFile(files, "xrc", null).toRealPath();
  }

  @Test
  void sharedReceiveQueuesAreNumbered() {
    XrcDomain domain = XrcDomain.open(context);
    CompletionQueue completions = context.createCompletionQueue(4);
    SharedReceiveQueue queue = SharedReceiveQueue.builder(pd, 8).xrc(domain, completions).create();
    assertSame(SharedReceiveQueueType.XRC, queue.type());
    assertEquals(rdma_h.IBV_SRQT_XRC(), ibv_srq_init_attr_ex.srq_type(attr));
    assertEquals(domain.segment(), ibv_srq_init_attr_ex.xrcd(attr));
    assertEquals(completions.segment(), ibv_srq_init_attr_ex.cq(attr));
    assertEquals(
        rdma_h.IBV_SRQ_INIT_ATTR_PD()
            | rdma_h.IBV_SRQ_INIT_ATTR_TYPE()
            | rdma_h.IBV_SRQ_INIT_ATTR_CQ()
            | rdma_h.IBV_SRQ_INIT_ATTR_XRCD(),
        ibv_srq_init_attr_ex.comp_mask(attr));
    assertEquals(NUMBER, queue.number());
    domain.close();
    assertFalse(queue.isOpen(), "closed before its domain");
  }

  @Test
  void receivingEndIsModifiedAndQueried() {
    QueuePair receiver = QueuePair.builder(XrcDomain.open(context)).create();
    assertSame(QueuePairType.XRC_RECV, receiver.type());
    assertEquals(rdma_h.IBV_QP_INIT_ATTR_XRCD(), ibv_qp_init_attr_ex.comp_mask(attr));
    assertEquals(MemorySegment.NULL, ibv_qp_init_attr_ex.send_cq(attr));
    assertEquals(0x99, receiver.number());
    assertThrows(IllegalStateException.class, receiver::domain);
    receiver.modify(
        QueuePairAttributes.toInit(receiver.type())
            .port(1)
            .access(AccessFlag.REMOTE_WRITE)
            .build());
    receiver.modify(
        QueuePairAttributes.toReadyToReceive(receiver.type())
            .path(AddressVector.local(1, 5))
            .pathMtu(Mtu.MTU_1024)
            .destination(0x77)
            .receivePsn(1)
            .readsAsTarget(1)
            .minRnrTimer(RnrTimer.DEFAULT)
            .build());
    int init =
        rdma_h.IBV_QP_STATE()
            | rdma_h.IBV_QP_PKEY_INDEX()
            | rdma_h.IBV_QP_PORT()
            | rdma_h.IBV_QP_ACCESS_FLAGS();
    int rtr =
        rdma_h.IBV_QP_STATE()
            | rdma_h.IBV_QP_AV()
            | rdma_h.IBV_QP_PATH_MTU()
            | rdma_h.IBV_QP_DEST_QPN()
            | rdma_h.IBV_QP_RQ_PSN()
            | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()
            | rdma_h.IBV_QP_MIN_RNR_TIMER();
    assertEquals(List.of(init, rtr), masks);
    assertSame(QueuePairState.RTR, receiver.state());
    ReceiveList receives = new ReceiveList(1, 0);
    assertThrows(IllegalStateException.class, () -> receiver.post(receives));
  }

  /** Among others, completion queues would count its requests, which it cannot have. */
  @Test
  void theReceivingEndHasNoSettingsOfQueues() {
    CompletionQueue completions = context.createCompletionQueue(4);
    XrcDomain domain = XrcDomain.open(context);
    SharedReceiveQueue shared = SharedReceiveQueue.builder(pd, 1).xrc(domain, completions).create();
    QueuePairBuilder builder = QueuePair.builder(domain);
    List<Executable> settings =
        List.of(
            () -> builder.completions(completions),
            () -> builder.sendCompletions(completions),
            () -> builder.receiveCompletions(completions),
            () -> builder.sharedReceiveQueue(shared),
            () -> builder.sendOperations(SendOperation.SEND),
            () -> builder.sourceNumber(1),
            () -> builder.maxTsoHeader(64),
            () -> builder.capacity(QueuePairCapacity.of(16)),
            builder::signalAll);
    for (Executable setting : settings) {
      String message = assertThrows(IllegalArgumentException.class, setting).getMessage();
      assertTrue(message.startsWith("an XRC_RECV queue pair has no send and receive "), message);
    }
    assertEquals(QueuePairCapacity.NONE, builder.create().capacity());
    assertEquals(MemorySegment.NULL, ibv_qp_init_attr_ex.send_cq(attr));
  }

  @Test
  void theReceivingEndIsOpenedAgain() throws IOException {
    XrcDomain domain = XrcDomain.open(context, file());
    QueuePair receiver = QueuePair.open(domain, 0x99);
    assertEquals(0x99, ibv_qp_open_attr.qp_num(attr));
    assertEquals(domain.segment(), ibv_qp_open_attr.xrcd(attr));
    assertEquals(rdma_h.IBV_QPT_XRC_RECV(), ibv_qp_open_attr.qp_type(attr));
    assertEquals(
        rdma_h.IBV_QP_OPEN_ATTR_NUM()
            | rdma_h.IBV_QP_OPEN_ATTR_XRCD()
            | rdma_h.IBV_QP_OPEN_ATTR_TYPE(),
        ibv_qp_open_attr.comp_mask(attr));
    assertSame(QueuePairType.XRC_RECV, receiver.type());
    assertThrows(IllegalArgumentException.class, () -> QueuePair.open(domain, 1 << 24));
    domain.close();
    assertFalse(receiver.isOpen(), "unregistered with its domain");
  }

  @Test
  void sendersNameTheQueue() {
    CompletionQueue completions = context.createCompletionQueue(4);
    QueuePair sender =
        QueuePair.builder(pd, QueuePairType.XRC_SEND)
            .completions(completions)
            .sendOperations(SendOperation.SEND)
            .create();
    SendList list = new SendList(1, 0);
    list.send(0).sharedReceiveQueue(NUMBER);
    assertEquals(1, sender.post(list));
    assertEquals(
        NUMBER,
        ibv_send_wr.qp_type.xrc.remote_srqn(ibv_send_wr.qp_type.xrc(ibv_send_wr.qp_type(posted))));
    assertEquals(1, sender.startPosting().send().sharedReceiveQueue(NUMBER).complete());
    assertEquals(List.of("start", "send", "srqn " + NUMBER, "data 0"), built);
    assertThrows(
        IllegalArgumentException.class, () -> QueuePair.builder(pd, QueuePairType.XRC_RECV));
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoXrc() {
    try (Pair pair = new Pair()) {
      Refusal.of(() -> XrcDomain.open(pair.a.context), "does not support XRC");
      Refusal.of(
          () -> XrcDomain.open(pair.a.context, files, XrcDomainFlag.CREAT), "does not support XRC");
      Refusal.of(() -> pair.a.builder(QueuePairType.XRC_SEND).create(), "XRC_SEND");
      SharedReceiveQueue plain = SharedReceiveQueue.create(pair.a.domain, 1);
      Refusal.of(plain::number);
      assertFalse(pair.a.context.deviceAttributes().has(DeviceCapability.XRC));
    }
  }
}
