package dev.verbena.internal.calls;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.raw.ibv_qp_ex;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;

/**
 * The {@code ibv_wr_*} functions of one queue pair: function pointers of {@code ibv_qp_ex}, one
 * method for each, named like it.
 */
public final class ExtendedQueuePairCalls {
  private static final long WR_ID = offset("wr_id");
  private static final long WR_FLAGS = offset("wr_flags");
  private static final long WR_COMPLETE = offset("wr_complete");

  private final long qpEx;
  private final long sendOps;
  private final MemorySegment wrAbort;
  private final MemorySegment wrAtomicCmpSwp;
  private final MemorySegment wrAtomicFetchAdd;
  private final MemorySegment wrAtomicWrite;
  private final MemorySegment wrBindMw;
  private final MemorySegment wrFlush;
  private final MemorySegment wrLocalInv;
  private final MemorySegment wrRdmaRead;
  private final MemorySegment wrRdmaWrite;
  private final MemorySegment wrRdmaWriteImm;
  private final MemorySegment wrSend;
  private final MemorySegment wrSendImm;
  private final MemorySegment wrSendInv;
  private final MemorySegment wrSendTso;
  private final MemorySegment wrSetInlineData;
  private final MemorySegment wrSetInlineDataList;
  private final MemorySegment wrSetSge;
  private final MemorySegment wrSetSgeList;
  private final MemorySegment wrSetUdAddr;
  private final MemorySegment wrSetXrcSrqn;
  private final MemorySegment wrStart;

  /** Not final: libmlx5 replaces the function when the state of the queue pair changes. */
  private MemorySegment wrComplete;

  /**
   * Reads the pointers.
   *
   * @param qpEx the {@code ibv_qp_ex}
   * @param sendOps the {@code IBV_QP_EX_WITH_*} flags that it was created with
   */
  public ExtendedQueuePairCalls(long qpEx, long sendOps) {
    this.qpEx = Memory.notNull(qpEx);
    this.sendOps = sendOps;
    wrAbort = pointer("wr_abort");
    wrAtomicCmpSwp = operation("wr_atomic_cmp_swp", rdma_h.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP());
    wrAtomicFetchAdd =
        operation("wr_atomic_fetch_add", rdma_h.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD());
    wrAtomicWrite = operation("wr_atomic_write", rdma_h.IBV_QP_EX_WITH_ATOMIC_WRITE());
    wrBindMw = operation("wr_bind_mw", rdma_h.IBV_QP_EX_WITH_BIND_MW());
    wrComplete = pointer("wr_complete");
    wrFlush = operation("wr_flush", rdma_h.IBV_QP_EX_WITH_FLUSH());
    wrLocalInv = operation("wr_local_inv", rdma_h.IBV_QP_EX_WITH_LOCAL_INV());
    wrRdmaRead = operation("wr_rdma_read", rdma_h.IBV_QP_EX_WITH_RDMA_READ());
    wrRdmaWrite = operation("wr_rdma_write", rdma_h.IBV_QP_EX_WITH_RDMA_WRITE());
    wrRdmaWriteImm = operation("wr_rdma_write_imm", rdma_h.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM());
    wrSend = operation("wr_send", rdma_h.IBV_QP_EX_WITH_SEND());
    wrSendImm = operation("wr_send_imm", rdma_h.IBV_QP_EX_WITH_SEND_WITH_IMM());
    wrSendInv = operation("wr_send_inv", rdma_h.IBV_QP_EX_WITH_SEND_WITH_INV());
    wrSendTso = operation("wr_send_tso", rdma_h.IBV_QP_EX_WITH_TSO());
    wrSetInlineData = pointer("wr_set_inline_data");
    wrSetInlineDataList = pointer("wr_set_inline_data_list");
    wrSetSge = pointer("wr_set_sge");
    wrSetSgeList = pointer("wr_set_sge_list");
    wrSetUdAddr = pointer("wr_set_ud_addr");
    wrSetXrcSrqn = pointer("wr_set_xrc_srqn");
    wrStart = pointer("wr_start");
  }

  /** Writes {@code wr_id} of the next request. */
  public void wr_id(long value) {
    Memory.putLong(qpEx + WR_ID, value);
  }

  /** Writes {@code wr_flags} of the next request. */
  public void wr_flags(int value) {
    Memory.putInt(qpEx + WR_FLAGS, value);
  }

  public void ibv_wr_abort() {
    Call.plain(useToEnd(wrAbort, "ibv_wr_abort"), qpEx);
  }

  public void ibv_wr_atomic_cmp_swp(int rkey, long remoteAddr, long compare, long swap) {
    Call.plain(use(wrAtomicCmpSwp, "ibv_wr_atomic_cmp_swp"), qpEx, rkey, remoteAddr, compare, swap);
  }

  public void ibv_wr_atomic_fetch_add(int rkey, long remoteAddr, long add) {
    Call.plain(use(wrAtomicFetchAdd, "ibv_wr_atomic_fetch_add"), qpEx, rkey, remoteAddr, add);
  }

  public void ibv_wr_atomic_write(int rkey, long remoteAddr, long atomicWr) {
    Call.plain(use(wrAtomicWrite, "ibv_wr_atomic_write"), qpEx, rkey, remoteAddr, atomicWr);
  }

  public void ibv_wr_bind_mw(long mw, int rkey, long bindInfo) {
    Call.plain(use(wrBindMw, "ibv_wr_bind_mw"), qpEx, mw, rkey, bindInfo);
  }

  public int ibv_wr_complete() {
    if (Memory.getLong(qpEx + WR_COMPLETE) != wrComplete.address()) {
      wrComplete = pointer("wr_complete");
    }
    return (int) Call.plain(useToEnd(wrComplete, "ibv_wr_complete"), qpEx);
  }

  public void ibv_wr_flush(int rkey, long remoteAddr, long len, byte type, byte level) {
    Call.plain(use(wrFlush, "ibv_wr_flush"), qpEx, rkey, remoteAddr, len, type, level);
  }

  public void ibv_wr_local_inv(int invalidateRkey) {
    Call.plain(use(wrLocalInv, "ibv_wr_local_inv"), qpEx, invalidateRkey);
  }

  public void ibv_wr_rdma_read(int rkey, long remoteAddr) {
    Call.plain(use(wrRdmaRead, "ibv_wr_rdma_read"), qpEx, rkey, remoteAddr);
  }

  public void ibv_wr_rdma_write(int rkey, long remoteAddr) {
    Call.plain(use(wrRdmaWrite, "ibv_wr_rdma_write"), qpEx, rkey, remoteAddr);
  }

  public void ibv_wr_rdma_write_imm(int rkey, long remoteAddr, int immData) {
    Call.plain(use(wrRdmaWriteImm, "ibv_wr_rdma_write_imm"), qpEx, rkey, remoteAddr, immData);
  }

  public void ibv_wr_send() {
    Call.plain(use(wrSend, "ibv_wr_send"), qpEx);
  }

  public void ibv_wr_send_imm(int immData) {
    Call.plain(use(wrSendImm, "ibv_wr_send_imm"), qpEx, immData);
  }

  public void ibv_wr_send_inv(int invalidateRkey) {
    Call.plain(use(wrSendInv, "ibv_wr_send_inv"), qpEx, invalidateRkey);
  }

  /** The inline function of the same name; the header's arena cannot be closed meanwhile. */
  public void ibv_wr_send_tso(MemorySegment hdr, short hdrSz, short mss) {
    Call.plain(use(wrSendTso, "ibv_wr_send_tso"), qpEx, hdr, hdrSz, mss);
  }

  /** The inline function of the same name; the data's arena cannot be closed meanwhile. */
  public void ibv_wr_set_inline_data(MemorySegment addr, long length) {
    Call.plain(use(wrSetInlineData, "ibv_wr_set_inline_data"), qpEx, addr, length);
  }

  public void ibv_wr_set_inline_data_list(long numBuf, long bufList) {
    Call.plain(use(wrSetInlineDataList, "ibv_wr_set_inline_data_list"), qpEx, numBuf, bufList);
  }

  public void ibv_wr_set_sge(int lkey, long addr, int length) {
    Call.plain(use(wrSetSge, "ibv_wr_set_sge"), qpEx, lkey, addr, length);
  }

  public void ibv_wr_set_sge_list(long numSge, long sgList) {
    Call.plain(use(wrSetSgeList, "ibv_wr_set_sge_list"), qpEx, numSge, sgList);
  }

  public void ibv_wr_set_ud_addr(long ah, int remoteQpn, int remoteQkey) {
    Call.plain(use(wrSetUdAddr, "ibv_wr_set_ud_addr"), qpEx, ah, remoteQpn, remoteQkey);
  }

  public void ibv_wr_set_xrc_srqn(int remoteSrqn) {
    Call.plain(use(wrSetXrcSrqn, "ibv_wr_set_xrc_srqn"), qpEx, remoteSrqn);
  }

  public void ibv_wr_start() {
    Call.plain(use(wrStart, "ibv_wr_start"), qpEx);
  }

  private static long offset(String field) {
    return Abi.current().offsetOf(ibv_qp_ex.layout(), field);
  }

  /**
   * Returns the pointer of an operation that was requested: the struct of an old library ends
   * before the newest operations.
   */
  private MemorySegment operation(String field, int flag) {
    return (sendOps & flag) == 0 ? MemorySegment.NULL : pointer(field);
  }

  private MemorySegment pointer(String field) {
    return MemorySegment.ofAddress(Memory.getLong(qpEx + offset(field)));
  }

  private static MemorySegment use(MemorySegment pointer, String function) {
    StackSpace.requireForCall();
    return present(pointer, function);
  }

  /** What ends a posting. */
  private static MemorySegment useToEnd(MemorySegment pointer, String function) {
    StackSpace.requireForEnd();
    return present(pointer, function);
  }

  /**
   * Throws for a NULL pointer: the operation was not requested at creation, and a call would jump
   * to address 0.
   */
  private static MemorySegment present(MemorySegment pointer, String function) {
    if (pointer.address() == 0) {
      throw new VerbsException(
          function,
          Errno.EOPNOTSUPP,
          "the queue pair was created without this operation, or its provider lacks it");
    }
    return pointer;
  }
}
