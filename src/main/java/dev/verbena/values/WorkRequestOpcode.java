package dev.verbena.values;

import static dev.verbena.values.QueuePairType.DC_INITIATOR;
import static dev.verbena.values.QueuePairType.DRIVER;
import static dev.verbena.values.QueuePairType.RAW_PACKET;
import static dev.verbena.values.QueuePairType.RC;
import static dev.verbena.values.QueuePairType.SRD;
import static dev.verbena.values.QueuePairType.UC;
import static dev.verbena.values.QueuePairType.UD;
import static dev.verbena.values.QueuePairType.XRC_SEND;

import dev.verbena.NativeConstant;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.rdma_h;
import java.util.EnumSet;
import java.util.Set;

/** The operation of a send request: {@code enum ibv_wr_opcode}. */
public enum WorkRequestOpcode implements NativeConstant {
  /** An RDMA write. */
  RDMA_WRITE(rdma_h.IBV_WR_RDMA_WRITE(), UC, RC, XRC_SEND, SRD, DC_INITIATOR),
  /** An RDMA write with immediate data, which consumes a remote receive request. */
  RDMA_WRITE_WITH_IMM(rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM(), UC, RC, XRC_SEND, SRD, DC_INITIATOR),
  /** A send. */
  SEND(rdma_h.IBV_WR_SEND(), UD, UC, RC, XRC_SEND, RAW_PACKET, SRD, DC_INITIATOR),
  /** A send with immediate data. */
  SEND_WITH_IMM(rdma_h.IBV_WR_SEND_WITH_IMM(), UD, UC, RC, XRC_SEND, SRD, DC_INITIATOR),
  /** An RDMA read. */
  RDMA_READ(rdma_h.IBV_WR_RDMA_READ(), RC, XRC_SEND, SRD, DC_INITIATOR),
  /** An atomic compare and swap of 64 bits. */
  ATOMIC_CMP_AND_SWP(rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP(), RC, XRC_SEND, DC_INITIATOR),
  /** An atomic fetch and add of 64 bits. */
  ATOMIC_FETCH_AND_ADD(rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD(), RC, XRC_SEND, DC_INITIATOR),
  /** A local invalidation of a key. */
  LOCAL_INV(rdma_h.IBV_WR_LOCAL_INV(), UC, RC, XRC_SEND),
  /** The binding of a memory window of type 2. */
  BIND_MW(rdma_h.IBV_WR_BIND_MW(), UC, RC, XRC_SEND),
  /** A send that invalidates a remote key. */
  SEND_WITH_INV(rdma_h.IBV_WR_SEND_WITH_INV(), UC, RC, XRC_SEND, DC_INITIATOR),
  /** A send with TCP segmentation offload (TSO). */
  TSO(rdma_h.IBV_WR_TSO(), UD, RAW_PACKET),
  /** A provider-specific operation. */
  DRIVER1(rdma_h.IBV_WR_DRIVER1()),
  /** A flush of remote memory, to visibility or persistence. */
  FLUSH(rdma_h.IBV_WR_FLUSH(), RC, XRC_SEND),
  /** An atomic write of 64 bits. */
  ATOMIC_WRITE(rdma_h.IBV_WR_ATOMIC_WRITE(), RC, XRC_SEND);

  private final int code;
  private final Set<QueuePairType> types = EnumSet.of(DRIVER); // Its rules are provider-specific.

  WorkRequestOpcode(int code, QueuePairType... types) {
    this.code = code;
    this.types.addAll(Set.of(types));
  }

  @Override
  public int code() {
    return code;
  }

  /** {@return whether the operation is an RDMA write or read} */
  public boolean isRdma() {
    return switch (this) {
      case RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ -> true;
      default -> false;
    };
  }

  /**
   * {@return whether the operation writes to memory of the local side: an RDMA read or an atomic
   * operation}
   */
  public boolean writesLocally() {
    return switch (this) {
      case RDMA_READ, ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD -> true;
      default -> false;
    };
  }

  /**
   * {@return the name of the operation: {@code ibv_wr_opcode_str}, which verbs.h declares and no
   * library defines}
   */
  public String text() {
    return Verbs.ibv_wr_opcode_str(code);
  }

  /**
   * {@return whether requests with this opcode can be posted to queue pairs of a type, by the table
   * in {@code ibv_post_send(3)}}
   *
   * @param type the type of the queue pair
   */
  public boolean isFor(QueuePairType type) {
    return types.contains(type);
  }
}
