package dev.verbena.internal.calls;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;
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
  private final boolean critical;
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
   * @param critical whether the provider works in user space, so that reads may be linked as
   *     critical: they do not wait. Polling may wait for a lock of another thread
   */
  public ExtendedCompletionQueueCalls(long cqEx, boolean critical) {
    this.critical = critical;
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
    readInvalidatedRkey = pointer(cqEx, "read_imm_data"); // A union in C.
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

  public int ibv_start_poll(long attr) {
    return (int) Call.plain(use(startPoll, "ibv_start_poll"), cqEx, attr);
  }

  public int ibv_next_poll() {
    return (int) Call.plain(use(nextPoll, "ibv_next_poll"), cqEx);
  }

  public void ibv_end_poll() {
    Call.plain(useToEnd(endPoll, "ibv_end_poll"), cqEx);
  }

  public int ibv_wc_read_byte_len() {
    return (int) read(readByteLen, "ibv_wc_read_byte_len");
  }

  public long ibv_wc_read_completion_ts() {
    return read(readCompletionTs, "ibv_wc_read_completion_ts");
  }

  public long ibv_wc_read_completion_wallclock_ns() {
    return read(readCompletionWallclockNs, "ibv_wc_read_completion_wallclock_ns");
  }

  public short ibv_wc_read_cvlan() {
    return (short) read(readCvlan, "ibv_wc_read_cvlan");
  }

  public byte ibv_wc_read_dlid_path_bits() {
    return (byte) read(readDlidPathBits, "ibv_wc_read_dlid_path_bits");
  }

  public int ibv_wc_read_flow_tag() {
    return (int) read(readFlowTag, "ibv_wc_read_flow_tag");
  }

  public int ibv_wc_read_imm_data() {
    return (int) read(readImmData, "ibv_wc_read_imm_data");
  }

  public int ibv_wc_read_invalidated_rkey() {
    return (int) read(readInvalidatedRkey, "ibv_wc_read_invalidated_rkey");
  }

  public int ibv_wc_read_opcode() {
    return (int) read(readOpcode, "ibv_wc_read_opcode");
  }

  public int ibv_wc_read_qp_num() {
    return (int) read(readQpNum, "ibv_wc_read_qp_num");
  }

  public byte ibv_wc_read_sl() {
    return (byte) read(readSl, "ibv_wc_read_sl");
  }

  public int ibv_wc_read_slid() {
    return (int) read(readSlid, "ibv_wc_read_slid");
  }

  public int ibv_wc_read_src_qp() {
    return (int) read(readSrcQp, "ibv_wc_read_src_qp");
  }

  public void ibv_wc_read_tm_info(long tmInfo) {
    Call.plain(use(readTmInfo, "ibv_wc_read_tm_info"), cqEx, tmInfo);
  }

  public int ibv_wc_read_vendor_err() {
    return (int) read(readVendorErr, "ibv_wc_read_vendor_err");
  }

  public int ibv_wc_read_wc_flags() {
    return (int) read(readWcFlags, "ibv_wc_read_wc_flags");
  }

  private long read(MemorySegment pointer, String function) {
    MemorySegment read = use(pointer, function);
    return critical ? Call.critical(read, cqEx) : Call.plain(read, cqEx);
  }

  private static long offset(String field) {
    return Abi.current().offsetOf(ibv_cq_ex.layout(), field);
  }

  private static MemorySegment pointer(long cqEx, String field) {
    return MemorySegment.ofAddress(Memory.getLong(cqEx + offset(field)));
  }

  private static MemorySegment use(MemorySegment pointer, String function) {
    StackSpace.requireForCall();
    return present(pointer, function);
  }

  /** What ends a poll. */
  private static MemorySegment useToEnd(MemorySegment pointer, String function) {
    StackSpace.requireForEnd();
    return present(pointer, function);
  }

  /**
   * Throws for a NULL pointer: the field was not requested at creation, and a call would jump to
   * address 0.
   */
  private static MemorySegment present(MemorySegment pointer, String function) {
    if (pointer.address() == 0) {
      throw new VerbsException(
          function,
          Errno.EOPNOTSUPP,
          "the completion queue was created without this field, or its provider lacks it");
    }
    return pointer;
  }
}
