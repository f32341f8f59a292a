package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Upcalls;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Completion;
import dev.verbena.soft.device.Peers;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftAddressHandle;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftRegion;
import dev.verbena.soft.transport.QueuePairChoices;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.wire.Gids;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The functions of libefa, for devices with the profile of an EFA. Offsets are those of efadv.h,
 * which are the same on all architectures.
 */
final class EfaFunctions {
  /** RDMA_READ, RNR_RETRY, CQ_WITH_SGID, RDMA_WRITE, UNSOLICITED_WRITE_RECV. */
  private static final int CAPABILITIES = 0x1f;

  /** The memory of the device for the entries of a send queue. */
  private static final int LLQ_BYTES = 32_768;

  private static final int ENTRY = 64;
  private static final int MAX_RECEIVES = SoftDevice.MAX_WR;
  private static final int MAX_SGES = 2;
  private static final int MAX_INLINE = 32;

  /** {@code EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV}, {@code EFADV_QP_FLAGS_INLINE_WRITE}. */
  private static final int UNSOLICITED_WRITES = 1;

  private static final int INLINE_WRITES = 2;

  private static final int WITH_SGID = 1;
  private static final int WITH_UNSOLICITED = 2;

  /** In memory behind {@code struct efadv_cq}: the address of the {@code ibv_cq_ex}. */
  private static final int EFA_QUEUE = 24;

  /** The object at an address, if its device is an EFA. */
  private static <T extends SoftObject> T efa(long address, Class<T> type) {
    T object = Registry.at(address, type);
    CallFailure.unsupportedIf(
        !object.device.profile.isEfa(), "the software device has not the profile efa");
    return object;
  }

  private static int maxInline(SoftDevice device) {
    return device.profile.limit("max_inline_data", MAX_INLINE);
  }

  /** The number of entries of a send queue. */
  private static int sends(boolean inlineWrites) {
    return LLQ_BYTES / (inlineWrites ? 2 * ENTRY : ENTRY);
  }

  public void efadv_query_device(long context, long attr, int length) {
    SoftDevice device = efa(context, SoftContext.class).device;
    Memory.at(attr, length).fill((byte) 0);
    Memory.putInt(attr + 8, sends(false));
    Memory.putInt(attr + 12, MAX_RECEIVES);
    Memory.putShort(attr + 16, (short) MAX_SGES);
    Memory.putShort(attr + 18, (short) MAX_SGES);
    Memory.putShort(attr + 20, (short) maxInline(device));
    Memory.putShort(attr + 22, (short) maxInline(device));
    Memory.putInt(attr + 24, CAPABILITIES);
    Memory.putInt(attr + 28, (int) SoftQueuePair.MAX_RDMA);
  }

  public int efadv_get_max_sq_depth(long context, long attr, int length) {
    SoftDevice device = efa(context, SoftContext.class).device;
    boolean fits =
        Memory.getInt(attr + 12) <= MAX_SGES
            && Memory.getInt(attr + 16) <= 1
            && Memory.getInt(attr + 20) <= maxInline(device);
    return fits ? sends((Memory.getInt(attr + 8) & 1) != 0) : -Errno.EINVAL;
  }

  public int efadv_get_max_rq_depth(long context, long attr, int length) {
    efa(context, SoftContext.class);
    int elements = Memory.getInt(attr + 8);
    return elements > MAX_SGES ? -Errno.EINVAL : MAX_RECEIVES / elements;
  }

  public long efadv_create_qp_ex(long context, long initAttr, long attr, int length) {
    SoftContext owner = efa(context, SoftContext.class);
    CStruct asked = CStruct.at(initAttr, ibv_qp_init_attr_ex.layout());
    int flags = Short.toUnsignedInt(Memory.getShort(attr + 12));
    int mask = asked.getInt("comp_mask");
    int known = rdma_h.IBV_QP_INIT_ATTR_PD() | rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS();
    CallFailure.unsupportedIf(
        asked.getInt("qp_type") != rdma_h.IBV_QPT_DRIVER()
            || Memory.getInt(attr + 8) != 0
            || (flags & ~(UNSOLICITED_WRITES | INLINE_WRITES)) != 0
            || (mask & ~known) != 0,
        "flags 0x" + Integer.toHexString(flags));
    if ((mask & rdma_h.IBV_QP_INIT_ATTR_PD()) == 0 || asked.getLong("srq") != 0) {
      throw CallFailure.invalid("no protection domain, or a shared receive queue");
    }
    boolean inlineWrites = (flags & INLINE_WRITES) != 0;
    QueuePairFunctions.check(asked, "max_send_wr", sends(inlineWrites));
    QueuePairFunctions.check(asked, "max_send_sge", MAX_SGES);
    QueuePairFunctions.check(asked, "max_recv_sge", MAX_SGES);
    QueuePairFunctions.check(
        asked, "max_recv_wr", MAX_RECEIVES / Math.max(1, asked.getInt("cap.max_recv_sge")));
    QueuePairFunctions.check(asked, "max_inline_data", maxInline(owner.device));
    SoftDomain domain = Registry.at(asked.getLong("pd"), SoftDomain.class);
    long operations =
        (mask & rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS()) != 0
            ? asked.getLong("send_ops_flags")
            : 0;
    return QueuePairFunctions.create(
        owner,
        domain,
        null,
        initAttr,
        new QueuePairChoices(
            operations, 0, 0, null, inlineWrites, (flags & UNSOLICITED_WRITES) != 0, 0, 0));
  }

  public long efadv_create_cq(long context, long initAttr, long attr, int length) {
    efa(context, SoftContext.class);
    long fields = Memory.getLong(attr + 8);
    CallFailure.unsupportedIf(
        (fields & ~(WITH_SGID | WITH_UNSOLICITED)) != 0, "wc_flags 0x" + Long.toHexString(fields));
    SoftCompletionQueue queue = CompletionFunctions.createExtended(context, initAttr);
    MemorySegment struct = Arena.ofAuto().allocate(EFA_QUEUE + Long.BYTES, Long.BYTES);
    if ((fields & WITH_SGID) != 0) {
      struct.set(ValueLayout.JAVA_LONG, 8, Pointers.to("wc_read_sgid").address());
    }
    if ((fields & WITH_UNSOLICITED) != 0) {
      struct.set(ValueLayout.JAVA_LONG, 16, Pointers.to("wc_is_unsolicited").address());
    }
    struct.set(ValueLayout.JAVA_LONG, EFA_QUEUE, queue.address());
    queue.efa = struct;
    return queue.address();
  }

  public long efadv_cq_from_ibv_cq_ex(long address) {
    SoftCompletionQueue queue = efa(address, SoftCompletionQueue.class);
    return queue.efa == null ? 0 : queue.efa.address();
  }

  private static Completion current(long address) {
    long queue = Memory.getLong(address + EFA_QUEUE);
    if (queue == 0) {
      Upcalls.requireObject(address);
    }
    return ExtendedPolling.current(queue);
  }

  /** The pointer behind {@code efadv_wc_read_sgid}. */
  public static int wc_read_sgid(long address, long gid) {
    Completion completion = current(address);
    if (completion.sourceLid != Peers.UNKNOWN) {
      return -Errno.ENOENT;
    }
    new Gids(completion.sourceGidHigh, completion.sourceGidLow).write(gid);
    return 0;
  }

  /** The pointer behind {@code efadv_wc_is_unsolicited}. */
  public static byte wc_is_unsolicited(long address) {
    return (byte) (current(address).unsolicited ? 1 : 0);
  }

  public void efadv_query_ah(long address, long attr, int length) {
    SoftAddressHandle handle = efa(address, SoftAddressHandle.class);
    Memory.at(attr, length).fill((byte) 0);
    Memory.putShort(attr + 8, (short) handle.number);
  }

  /** All regions are reached by one interconnect. */
  public void efadv_query_mr(long address, long attr, int length) {
    efa(address, SoftRegion.class);
    Memory.at(attr, length).fill((byte) 0);
    Memory.putShort(attr + 8, (short) 7);
  }
}
