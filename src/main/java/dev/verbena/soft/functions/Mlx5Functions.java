package dev.verbena.soft.functions;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.transport.QueuePairChoices;
import dev.verbena.soft.transport.SoftQueuePair;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The functions of libmlx5 for DC, for devices with the profile of an mlx5. Offsets are those of
 * mlx5dv.h, which are the same on all architectures.
 */
final class Mlx5Functions {
  /** {@code MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM}, {@code MLX5DV_QP_INIT_ATTR_MASK_DC}. */
  private static final long READ_LIMITS = 1 << 14;

  private static final long DC = 1 << 1;

  /** {@code MLX5DV_DCTYPE_DCT}, {@code MLX5DV_DCTYPE_DCI}. */
  private static final int TARGET = 1;

  private static final int INITIATOR = 2;

  private static final int KNOWN =
      rdma_h.IBV_QP_INIT_ATTR_PD() | rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS();

  /** The object at an address, if its device is one of mlx5. */
  private static <T extends SoftObject> T mlx5(long address, Class<T> type) {
    T object = Registry.at(address, type);
    CallFailure.unsupportedIf(
        !object.device.profile.isMlx5(), "the software device has not the profile of an mlx5");
    return object;
  }

  /** Of what a program asks for, the limits of DC are known. */
  public void mlx5dv_query_device(long context, long attrs) {
    SoftContext _ = mlx5(context, SoftContext.class);
    long asked = Memory.getLong(attrs + 16);
    Memory.putLong(attrs + 16, asked & READ_LIMITS);
    if ((asked & READ_LIMITS) != 0) {
      Memory.putLong(attrs + 152, SoftDevice.MAX_DC_READS);
      Memory.putLong(attrs + 160, SoftDevice.MAX_DC_READS);
    }
  }

  public long mlx5dv_create_qp(long context, long initAttr, long attr) {
    SoftContext owner = mlx5(context, SoftContext.class);
    CStruct asked = CStruct.at(initAttr, ibv_qp_init_attr_ex.layout());
    int mask = asked.getInt("comp_mask");
    CallFailure.unsupportedIf(
        Memory.getLong(attr) != DC || (mask & ~KNOWN) != 0,
        "comp_mask 0x%x, 0x%x".formatted(Memory.getLong(attr), mask));
    int type = Memory.getInt(attr + 16);
    boolean initiates = type == INITIATOR;
    CallFailure.invalidIf(
        asked.getInt("qp_type") != rdma_h.IBV_QPT_DRIVER()
            || (mask & rdma_h.IBV_QP_INIT_ATTR_PD()) == 0
            || (!initiates && type != TARGET),
        "not a driver's queue pair, no protection domain, or dc_type " + type);
    CallFailure.invalidIf(
        !initiates && asked.getLong("srq") == 0, "a DC target needs a shared receive queue");
    CallFailure.invalidIf(
        initiates && (asked.getLong("srq") != 0 || asked.getInt("cap.max_recv_wr") != 0),
        "a DC initiator has no receive queue");
    boolean isExtended = (mask & rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS()) != 0;
    return QueuePairFunctions.create(
        owner,
        Registry.at(asked.getLong("pd"), SoftDomain.class),
        null,
        initAttr,
        QueuePairChoices.dc(
            isExtended ? asked.getLong("send_ops_flags") : 0,
            initiates ? QueuePairChoices.DC_INITIATOR : QueuePairChoices.DC_TARGET,
            Memory.getLong(attr + 24)));
  }

  public long mlx5dv_qp_ex_from_ibv_qp_ex(long address) {
    SoftQueuePair queuePair = mlx5(address, SoftQueuePair.class);
    if (queuePair.mlx5 == null) {
      MemorySegment struct =
          Arena.ofAuto().allocate(ExtendedPosting.OF_DC + Long.BYTES, Long.BYTES);
      struct.set(ValueLayout.JAVA_LONG, 8, Pointers.to("wr_set_dc_addr").address());
      struct.set(ValueLayout.JAVA_LONG, ExtendedPosting.OF_DC, address);
      queuePair.mlx5 = struct;
    }
    return queuePair.mlx5.address();
  }
}
