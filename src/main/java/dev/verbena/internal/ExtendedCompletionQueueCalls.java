package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_cq_ex;
import java.lang.foreign.MemorySegment;

/**
 * Polling and reading of one extended completion queue: function pointers of {@code ibv_cq_ex}, one
 * method for each, named like its inline function.
 */
public final class ExtendedCompletionQueueCalls {
  private static final long STATUS = offset("status");
  private static final long WR_ID = offset("wr_id");

  private final long cqEx;
  private final MemorySegment startPoll;
  private final MemorySegment nextPoll;
  private final MemorySegment endPoll;
  private final MemorySegment readByteLen;
  private final MemorySegment readCompletionTs;
  private final MemorySegment readCompletionWallclockNs;
  private final MemorySegment readCvlan;
  private final MemorySegment readDlidPathBits;
  private final MemorySegment readFlowTag;
  private final MemorySegment readImmData;
  private final MemorySegment readInvalidatedRkey;
  private final MemorySegment readOpcode;
  private final MemorySegment readQpNum;
  private final MemorySegment readSl;
  private final MemorySegment readSlid;
  private final MemorySegment readSrcQp;
  private final MemorySegment readTmInfo;
  private final MemorySegment readVendorErr;
  private final MemorySegment readWcFlags;

  /**
   * Reads the pointers.
   *
   * @param cqEx the {@code ibv_cq_ex}
   */
  public ExtendedCompletionQueueCalls(long cqEx) {
    this.cqEx = Memory.notNull(cqEx);
    startPoll = pointer(cqEx, "start_poll");
    nextPoll = pointer(cqEx, "next_poll");
    endPoll = pointer(cqEx, "end_poll");
    readByteLen = pointer(cqEx, "read_byte_len");
    readCompletionTs = pointer(cqEx, "read_completion_ts");
    readCompletionWallclockNs = pointer(cqEx, "read_completion_wallclock_ns");
    readCvlan = pointer(cqEx, "read_cvlan");
    readDlidPathBits = pointer(cqEx, "read_dlid_path_bits");
    readFlowTag = pointer(cqEx, "read_flow_tag");
    readImmData = pointer(cqEx, "read_imm_data");
    readInvalidatedRkey = pointer(cqEx, "read_imm_data"); // One place for both in C.
    readOpcode = pointer(cqEx, "read_opcode");
    readQpNum = pointer(cqEx, "read_qp_num");
    readSl = pointer(cqEx, "read_sl");
    readSlid = pointer(cqEx, "read_slid");
    readSrcQp = pointer(cqEx, "read_src_qp");
    readTmInfo = pointer(cqEx, "read_tm_info");
    readVendorErr = pointer(cqEx, "read_vendor_err");
    readWcFlags = pointer(cqEx, "read_wc_flags");
  }

  /** Reads {@code status} of the current completion. */
  public int status() {
    return Memory.getInt(cqEx + STATUS);
  }

  /** Reads {@code wr_id} of the current completion. */
  public long wr_id() {
    return Memory.getLong(cqEx + WR_ID);
  }

  /** The inline function of the same name. */
  public int ibv_start_poll(long attr) {
    return Call.i(use(startPoll, "ibv_start_poll"), cqEx, attr);
  }

  /** The inline function of the same name. */
  public int ibv_next_poll() {
    return Call.i(use(nextPoll, "ibv_next_poll"), cqEx);
  }

  /** The inline function of the same name. */
  public void ibv_end_poll() {
    Call.v(use(endPoll, "ibv_end_poll"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_byte_len() {
    return Call.i(use(readByteLen, "ibv_wc_read_byte_len"), cqEx);
  }

  /** The inline function of the same name. */
  public long ibv_wc_read_completion_ts() {
    return Call.l(use(readCompletionTs, "ibv_wc_read_completion_ts"), cqEx);
  }

  /** The inline function of the same name. */
  public long ibv_wc_read_completion_wallclock_ns() {
    return Call.l(use(readCompletionWallclockNs, "ibv_wc_read_completion_wallclock_ns"), cqEx);
  }

  /** The inline function of the same name. */
  public short ibv_wc_read_cvlan() {
    return Call.s(use(readCvlan, "ibv_wc_read_cvlan"), cqEx);
  }

  /** The inline function of the same name. */
  public byte ibv_wc_read_dlid_path_bits() {
    return Call.b(use(readDlidPathBits, "ibv_wc_read_dlid_path_bits"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_flow_tag() {
    return Call.i(use(readFlowTag, "ibv_wc_read_flow_tag"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_imm_data() {
    return Call.i(use(readImmData, "ibv_wc_read_imm_data"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_invalidated_rkey() {
    return Call.i(use(readInvalidatedRkey, "ibv_wc_read_invalidated_rkey"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_opcode() {
    return Call.i(use(readOpcode, "ibv_wc_read_opcode"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_qp_num() {
    return Call.i(use(readQpNum, "ibv_wc_read_qp_num"), cqEx);
  }

  /** The inline function of the same name. */
  public byte ibv_wc_read_sl() {
    return Call.b(use(readSl, "ibv_wc_read_sl"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_slid() {
    return Call.i(use(readSlid, "ibv_wc_read_slid"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_src_qp() {
    return Call.i(use(readSrcQp, "ibv_wc_read_src_qp"), cqEx);
  }

  /** The inline function of the same name. */
  public void ibv_wc_read_tm_info(long tmInfo) {
    Call.v(use(readTmInfo, "ibv_wc_read_tm_info"), cqEx, tmInfo);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_vendor_err() {
    return Call.i(use(readVendorErr, "ibv_wc_read_vendor_err"), cqEx);
  }

  /** The inline function of the same name. */
  public int ibv_wc_read_wc_flags() {
    return Call.i(use(readWcFlags, "ibv_wc_read_wc_flags"), cqEx);
  }

  private static long offset(String field) {
    return Abi.current().offsetOf(ibv_cq_ex.layout(), field);
  }

  private static MemorySegment pointer(long cqEx, String field) {
    return MemorySegment.ofAddress(Memory.getLong(cqEx + offset(field)));
  }

  /** C would jump to address 0 for a field that was not asked for at creation. */
  private static MemorySegment use(MemorySegment pointer, String function) {
    if (pointer.address() == 0) {
      throw new VerbsException(
          function,
          Errno.EOPNOTSUPP,
          "the completion queue was created without this field, or its provider lacks it");
    }
    return pointer;
  }
}
