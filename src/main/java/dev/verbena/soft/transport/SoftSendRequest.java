package dev.verbena.soft.transport;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.ScatterList;
import dev.verbena.soft.device.SoftAddressHandle;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftRegion;
import dev.verbena.soft.device.SoftWindow;
import dev.verbena.soft.wire.Psn;
import org.jspecify.annotations.Nullable;

/** A send request in a send queue, and how far it was carried out. Slots of the queue reuse it. */
public final class SoftSendRequest {
  public long wrId;
  public int opcode;
  public int flags;

  /** Immediate data as it lies in memory, or the remote key to invalidate. */
  public int immediate;

  public final ScatterList elements;

  /** Where inline data is, or 0. */
  public final long inlineBuffer;

  /** The length of inline data, or -1. */
  public int inlineLength;

  /** Where the header of a TSO request is, or 0. */
  public final long headerBuffer;

  public int headerLength;

  /** The maximum segment size (MSS) of a TSO request. */
  public int segmentSize;

  public long remoteAddress;
  public int remoteKey;
  public long compareAdd;
  public long swap;

  // UD, SRD, DC
  public @Nullable SoftAddressHandle handle;
  public int remoteQueuePair;
  public int remoteQueueKey;

  /** DC: the access key of the target. */
  public long accessKey;

  // XRC
  public int sharedQueue;

  // Memory windows
  public @Nullable SoftWindow window;
  public @Nullable SoftRegion region;
  public long bindAddress;
  public long bindLength;
  public int bindAccess;

  /** The key of the window before and after, as {@code ibv_bind_mw} or a request gives it. */
  public int bindKey;

  // FLUSH
  public int flushType;
  public int flushLevel;

  /** What an ATOMIC WRITE writes, where the request holds the value itself. */
  public long atomicValue;

  public boolean hasAtomicValue;

  /** On SRD its position in the send queue, which changes when others are done before. */
  long position;

  // Progress
  int firstPsn;
  int packets;

  /** Response packets that arrived. */
  int received;

  /** Whether the response is complete, or a local operation is done. */
  boolean finished;

  public SoftSendRequest(int maxElements, long inlineBuffer, long headerBuffer) {
    elements = new ScatterList(maxElements);
    this.inlineBuffer = inlineBuffer;
    this.headerBuffer = headerBuffer;
  }

  void clear() {
    inlineLength = -1;
    elements.clear();
    handle = null;
    window = null;
    region = null;
    hasAtomicValue = false;
    immediate = 0;
    sharedQueue = 0;
    received = 0;
    finished = false;
    packets = 0;
  }

  /** The length of the message. */
  long length() {
    return inlineLength >= 0 ? inlineLength : elements.length();
  }

  int lastPsn() {
    return Psn.plus(firstPsn, packets - 1);
  }

  boolean isRead() {
    return opcode == rdma_h.IBV_WR_RDMA_READ();
  }

  public boolean isAtomic() {
    return opcode == rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP()
        || opcode == rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD();
  }

  /** Whether the responder answers with more than an acknowledgement. */
  boolean hasResponse() {
    return isRead()
        || isAtomic()
        || opcode == rdma_h.IBV_WR_FLUSH()
        || opcode == rdma_h.IBV_WR_ATOMIC_WRITE();
  }

  /** Whether no packet is sent for it. */
  boolean isLocal() {
    return opcode == rdma_h.IBV_WR_LOCAL_INV() || opcode == rdma_h.IBV_WR_BIND_MW();
  }

  boolean isSend() {
    return opcode == rdma_h.IBV_WR_SEND()
        || opcode == rdma_h.IBV_WR_SEND_WITH_IMM()
        || opcode == rdma_h.IBV_WR_SEND_WITH_INV();
  }

  boolean isWrite() {
    return opcode == rdma_h.IBV_WR_RDMA_WRITE() || opcode == rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM();
  }

  public boolean has(int flag) {
    return (flags & flag) != 0;
  }

  /** Copies a part of the message to a buffer; false if that is not allowed. */
  boolean gather(SoftDomain domain, long offset, long buffer, int length) {
    if (length == 0) {
      return true;
    }
    if (inlineLength >= 0) {
      Memory.copy(inlineBuffer + offset, buffer, length);
      return true;
    }
    return elements.gather(domain, offset, buffer, length);
  }

  /** The operation that completion counters count it as, or 0. */
  int countedOperation() {
    if (isSend()) {
      return rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_SEND();
    } else if (isWrite()) {
      return rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE();
    }
    return isRead() ? rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ() : 0;
  }

  /** Whether it is a write with immediate data. */
  boolean isWriteWithImmediate() {
    return opcode == rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM();
  }

  /** The opcode of its work completion. */
  int completionOpcode() {
    if (isSend()) {
      return rdma_h.IBV_WC_SEND();
    } else if (isWrite()) {
      return rdma_h.IBV_WC_RDMA_WRITE();
    } else if (isRead()) {
      return rdma_h.IBV_WC_RDMA_READ();
    } else if (opcode == rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP()) {
      return rdma_h.IBV_WC_COMP_SWAP();
    } else if (opcode == rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD()) {
      return rdma_h.IBV_WC_FETCH_ADD();
    } else if (opcode == rdma_h.IBV_WR_BIND_MW()) {
      return rdma_h.IBV_WC_BIND_MW();
    } else if (opcode == rdma_h.IBV_WR_LOCAL_INV()) {
      return rdma_h.IBV_WC_LOCAL_INV();
    } else if (opcode == rdma_h.IBV_WR_TSO()) {
      return rdma_h.IBV_WC_TSO();
    } else if (opcode == rdma_h.IBV_WR_FLUSH()) {
      return rdma_h.IBV_WC_FLUSH();
    } else if (opcode == rdma_h.IBV_WR_ATOMIC_WRITE()) {
      return rdma_h.IBV_WC_ATOMIC_WRITE();
    }
    return rdma_h.IBV_WC_SEND();
  }

  /** Reads the part of a memory window bind from a {@code struct ibv_mw_bind_info}. */
  public void readBindInfo(long info) {
    long mr = Memory.getLong(info);
    region = mr == 0 ? null : Registry.at(mr, SoftRegion.class);
    bindAddress = Memory.getLong(info + 8);
    bindLength = Memory.getLong(info + 16);
    bindAccess = Memory.getInt(info + 24);
  }
}
