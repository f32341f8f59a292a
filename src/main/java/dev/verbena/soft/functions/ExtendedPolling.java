package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Upcalls;
import dev.verbena.raw.ibv_cq_ex;
import dev.verbena.raw.ibv_wc_tm_info;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Completion;
import dev.verbena.soft.device.SoftCompletionQueue;
import java.util.Map;

/**
 * The functions behind the pointers of {@code struct ibv_cq_ex}: polling with {@code
 * ibv_start_poll}, and reading the fields of the current completion.
 */
final class ExtendedPolling {
  private static final long STATUS = Abi.current().offsetOf(ibv_cq_ex.layout(), "status");
  private static final long WR_ID = Abi.current().offsetOf(ibv_cq_ex.layout(), "wr_id");

  /** The functions that read fields, by the flag with which each field is asked for. */
  private static final Map<String, Integer> FIELDS =
      Map.ofEntries(
          Map.entry("read_byte_len", rdma_h.IBV_WC_EX_WITH_BYTE_LEN()),
          Map.entry("read_imm_data", rdma_h.IBV_WC_EX_WITH_IMM()),
          Map.entry("read_qp_num", rdma_h.IBV_WC_EX_WITH_QP_NUM()),
          Map.entry("read_src_qp", rdma_h.IBV_WC_EX_WITH_SRC_QP()),
          Map.entry("read_slid", rdma_h.IBV_WC_EX_WITH_SLID()),
          Map.entry("read_sl", rdma_h.IBV_WC_EX_WITH_SL()),
          Map.entry("read_dlid_path_bits", rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS()),
          Map.entry("read_cvlan", rdma_h.IBV_WC_EX_WITH_CVLAN()),
          Map.entry("read_flow_tag", rdma_h.IBV_WC_EX_WITH_FLOW_TAG()),
          Map.entry("read_tm_info", rdma_h.IBV_WC_EX_WITH_TM_INFO()),
          Map.entry("read_completion_ts", rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP()),
          Map.entry(
              "read_completion_wallclock_ns",
              rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK()));

  /** Sets the pointers of a queue that was asked for some fields. */
  static void fill(CStruct queue, long wcFlags) {
    long known = FIELDS.values().stream().reduce(0, (a, b) -> a | b);
    CallFailure.unsupportedIf(
        (wcFlags & ~known) != 0, "wc_flags 0x" + Long.toHexString(wcFlags & ~known));
    Pointers.fill(queue, "start_poll", "next_poll", "end_poll");
    Pointers.fill(queue, "read_opcode", "read_vendor_err", "read_wc_flags");
    Pointers.fill(queue, FIELDS, wcFlags);
  }

  private static SoftCompletionQueue queue(long address) {
    SoftCompletionQueue queue = SoftCompletionQueue.at(address);
    if (queue == null) {
      Upcalls.requireObject(address);
      throw new IllegalStateException("the completion queue was destroyed");
    }
    return queue;
  }

  static Completion current(long address) {
    return queue(address).current;
  }

  public static int start_poll(long address, long attributes) {
    SoftCompletionQueue queue = queue(address);
    queue.polling.lock();
    int result = Errno.EIO;
    try {
      result = next_poll(address);
    } finally {
      if (result != 0) {
        queue.polling.unlock();
      }
    }
    return result;
  }

  public static int next_poll(long address) {
    SoftCompletionQueue queue = queue(address);
    if (!queue.poll(queue.current)) {
      return Errno.ENOENT;
    }
    Memory.putInt(address + STATUS, queue.current.status);
    Memory.putLong(address + WR_ID, queue.current.wrId);
    return 0;
  }

  public static void end_poll(long address) {
    queue(address).polling.unlock();
  }

  public static int read_opcode(long address) {
    return current(address).opcode;
  }

  public static int read_vendor_err(long address) {
    return SoftCompletionQueue.vendorError(current(address));
  }

  public static int read_byte_len(long address) {
    return current(address).length;
  }

  public static int read_imm_data(long address) {
    return current(address).immediate;
  }

  public static int read_qp_num(long address) {
    return current(address).queuePair;
  }

  public static int read_src_qp(long address) {
    return current(address).sourceQueuePair;
  }

  public static int read_wc_flags(long address) {
    return current(address).flags;
  }

  public static int read_slid(long address) {
    return current(address).sourceLid;
  }

  public static byte read_sl(long address) {
    return (byte) current(address).serviceLevel;
  }

  public static byte read_dlid_path_bits(long address) {
    return (byte) current(address).pathBits;
  }

  public static short read_cvlan(long address) {
    return (short) current(address).vlanTag;
  }

  public static int read_flow_tag(long address) {
    return current(address).flowTag;
  }

  public static void read_tm_info(long address, long info) {
    Memory.putLong(info + ibv_wc_tm_info.tag$offset(), current(address).tag);
    Memory.putInt(info + ibv_wc_tm_info.priv$offset(), current(address).tagData);
  }

  public static long read_completion_ts(long address) {
    return current(address).timestamp;
  }

  public static long read_completion_wallclock_ns(long address) {
    return current(address).wallClock;
  }
}
