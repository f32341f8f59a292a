package dev.verbena.disni;

import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.SVCPostSend.RdmaMod;
import com.ibm.disni.verbs.SVCPostSend.SendWRMod;
import com.ibm.disni.verbs.SVCPostSend.SgeMod;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * A send request of a list, and its mutators: each changes the formatted request. A change of the
 * flags other than {@code IBV_SEND_SIGNALED} formats it again.
 */
final class SendSlot implements SendWRMod, RdmaMod {
  private static final int SIGNALED = IbvSendWR.IBV_SEND_SIGNALED;
  private static final int FENCE = IbvSendWR.IBV_SEND_FENCE;
  private static final int SOLICITED = IbvSendWR.IBV_SEND_SOLICITED;
  private static final int INLINE = IbvSendWR.IBV_SEND_INLINE;

  /** All memory: inline data is anywhere, as in C. */
  private static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private final PostSend call;
  private final SendList list;
  private final int index;
  private final int opcode;
  private final int immediate;
  private final long compareAdd;
  private final long swap;
  private final Sge[] sges;
  private int flags;
  private long remoteAddress;
  private int remoteKey;
  private int reserved;

  SendSlot(SendList list, int index, IbvSendWR request, PostSend call) throws IOException {
    this.call = call;
    this.list = list;
    this.index = index;
    this.opcode = request.getOpcode();
    this.immediate = request.getImm_data();
    this.flags = request.getSend_flags();
    this.compareAdd = request.getAtomic().getCompare_add();
    this.swap = request.getAtomic().getSwap();
    if (isAtomic()) {
      this.remoteAddress = request.getAtomic().getRemote_addr();
      this.remoteKey = request.getAtomic().getRkey();
    } else {
      this.remoteAddress = request.getRdma().getRemote_addr();
      this.remoteKey = request.getRdma().getRkey();
      this.reserved = request.getRdma().getReserved();
    }
    this.sges = new Sge[request.getNum_sge()];
    for (int i = 0; i < sges.length; i++) {
      sges[i] = new Sge(i, request.getSge(i));
    }
    format(request.getWr_id());
  }

  private boolean isAtomic() {
    return opcode == IbvSendWR.IBV_WR_ATOMIC_CMP_AND_SWP
        || opcode == IbvSendWR.IBV_WR_ATOMIC_FETCH_AND_ADD;
  }

  private boolean isSend() {
    return opcode == IbvSendWR.IBV_WR_SEND || opcode == IbvSendWR.IBV_WR_SEND_WITH_IMM;
  }

  private boolean isInline() {
    return (flags & INLINE) != 0;
  }

  private void format(long id) {
    if ((flags & ~(SIGNALED | FENCE | SOLICITED | INLINE)) != 0) {
      throw new IllegalArgumentException(
          "unknown send flags 0x" + Integer.toHexString(flags) + ": use those of IbvSendWR");
    }
    SendRequest request =
        switch (opcode) {
          case IbvSendWR.IBV_WR_RDMA_WRITE -> list.write(index);
          case IbvSendWR.IBV_WR_RDMA_WRITE_WITH_IMM ->
              list.writeWithImmediate(index, WireOrder.of(immediate));
          case IbvSendWR.IBV_WR_SEND -> list.send(index);
          case IbvSendWR.IBV_WR_SEND_WITH_IMM ->
              list.sendWithImmediate(index, WireOrder.of(immediate));
          case IbvSendWR.IBV_WR_RDMA_READ -> list.read(index);
          case IbvSendWR.IBV_WR_ATOMIC_CMP_AND_SWP -> list.compareAndSwap(index, compareAdd, swap);
          case IbvSendWR.IBV_WR_ATOMIC_FETCH_AND_ADD -> list.fetchAndAdd(index, compareAdd);
          default ->
              throw new IllegalArgumentException(
                  "unknown opcode " + opcode + ": use those of IbvSendWR");
        };
    request.id(id);
    if (!isSend()) {
      request.remote(remoteAddress, remoteKey);
    }
    if ((flags & SIGNALED) != 0) {
      request.signaled();
    }
    if ((flags & FENCE) != 0) {
      request.fenced();
    }
    if ((flags & SOLICITED) != 0) {
      request.solicited();
    }
    if (isInline()) {
      request.inline(0);
      call.copiesInlineData();
    } else {
      for (Sge sge : sges) {
        sge.patch();
      }
    }
  }

  /** Copies the inline data, wherever it is, into the request that is posted. */
  void copyInlineData() {
    if (isInline()) {
      long length = 0;
      for (Sge sge : sges) {
        length += Integer.toUnsignedLong(sge.length);
      }
      list.inlineLength(index, length); // Throws an exception if it is too long.
      long at = 0;
      for (Sge sge : sges) {
        MemorySegment.copy(MEMORY, sge.address, list.inlineData(index), at, sge.length);
        at += sge.length;
      }
    }
  }

  @Override
  public void setWr_id(long wrId) {
    list.id(index, wrId);
  }

  @Override
  public void setSend_flags(int sendFlags) {
    int changed = flags ^ sendFlags;
    flags = sendFlags;
    if ((changed & ~SIGNALED) != 0) {
      format(getWr_id());
    } else if ((sendFlags & SIGNALED) != 0) {
      list.signaled(index);
    } else {
      list.unsignaled(index);
    }
  }

  @Override
  public long getWr_id() {
    return list.id(index);
  }

  @Override
  public int getNum_sge() {
    return sges.length;
  }

  @Override
  public int getOpcode() {
    return opcode;
  }

  @Override
  public int getSend_flags() {
    return flags;
  }

  @Override
  public RdmaMod getRdmaMod() {
    return this;
  }

  @Override
  public SgeMod getSgeMod(int sge) {
    return sges[sge];
  }

  @Override
  public void setRemote_addr(long address) {
    remoteAddress = address;
    patchRemote();
  }

  @Override
  public long getRemote_addr() {
    return remoteAddress;
  }

  @Override
  public void setRkey(int rkey) {
    remoteKey = rkey;
    patchRemote();
  }

  /** A send has no remote memory; DiSNI's provider ignores what is set. */
  private void patchRemote() {
    if (!isSend()) {
      list.remote(index, remoteAddress, remoteKey);
    }
  }

  @Override
  public int getRkey() {
    return remoteKey;
  }

  /** Padding of the C struct. */
  @Override
  public void setReserved(int value) {
    reserved = value;
  }

  @Override
  public int getReserved() {
    return reserved;
  }

  /** An SGE of the request. */
  private final class Sge implements SgeMod {
    private final int sge;
    private long address;
    private int length;
    private int lkey;
    private int localKey;

    Sge(int sge, IbvSge from) {
      this.sge = sge;
      this.address = from.getAddr();
      this.length = from.getLength();
      this.lkey = from.getLkey();
      this.localKey = call.localKey(lkey);
    }

    /** Inline data is copied when the list is posted. */
    private void patch() {
      if (!isInline()) {
        list.localUnchecked(index, sge, address, length, localKey);
      }
    }

    @Override
    public void setAddr(long addr) {
      address = addr;
      patch();
    }

    @Override
    public long getAddr() {
      return address;
    }

    @Override
    public void setLength(int value) {
      length = value;
      patch();
    }

    @Override
    public int getLength() {
      return length;
    }

    @Override
    public void setLkey(int key) {
      lkey = key;
      localKey = call.localKey(key);
      patch();
    }

    @Override
    public int getLkey() {
      return lkey;
    }
  }
}
