package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairType.DRIVER;
import static dev.verbena.verbs.QueuePairType.RAW_PACKET;
import static dev.verbena.verbs.QueuePairType.RC;
import static dev.verbena.verbs.QueuePairType.UC;
import static dev.verbena.verbs.QueuePairType.UD;
import static dev.verbena.verbs.QueuePairType.XRC_SEND;

import dev.verbena.internal.Verbs;
import dev.verbena.raw.rdma_h;
import java.util.EnumSet;
import java.util.Set;

/**
 * What a send request does, and on which queue pairs it may be posted: {@code enum ibv_wr_opcode}.
 */
public enum WorkRequestOpcode implements Codes.Code {
  /** Writes to the peer's memory. */
  RDMA_WRITE(rdma_h.IBV_WR_RDMA_WRITE(), UC, RC, XRC_SEND),
  /** Writes to the peer's memory, then completes a receive of the peer with 32 bits of its own. */
  RDMA_WRITE_WITH_IMM(rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM(), UC, RC, XRC_SEND),
  /** Sends a message into a receive of the peer. */
  SEND(rdma_h.IBV_WR_SEND(), UD, UC, RC, XRC_SEND, RAW_PACKET),
  /** Sends a message with 32 bits more, which arrive in the completion. */
  SEND_WITH_IMM(rdma_h.IBV_WR_SEND_WITH_IMM(), UD, UC, RC, XRC_SEND),
  /** Reads from the peer's memory. */
  RDMA_READ(rdma_h.IBV_WR_RDMA_READ(), RC, XRC_SEND),
  /** Exchanges 64 bits of the peer's memory if they have an expected value. */
  ATOMIC_CMP_AND_SWP(rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP(), RC, XRC_SEND),
  /** Adds to 64 bits of the peer's memory. */
  ATOMIC_FETCH_AND_ADD(rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD(), RC, XRC_SEND),
  /** Makes a key of the local side invalid. */
  LOCAL_INV(rdma_h.IBV_WR_LOCAL_INV(), UC, RC, XRC_SEND),
  /** Binds a memory window of type 2 to a region. */
  BIND_MW(rdma_h.IBV_WR_BIND_MW(), UC, RC, XRC_SEND),
  /** Sends a message and makes a key of the peer invalid. */
  SEND_WITH_INV(rdma_h.IBV_WR_SEND_WITH_INV(), UC, RC, XRC_SEND),
  /** Sends a stream that the device cuts into TCP segments. */
  TSO(rdma_h.IBV_WR_TSO(), UD, RAW_PACKET),
  /** An operation of the device's own. */
  DRIVER1(rdma_h.IBV_WR_DRIVER1()),
  /** Makes earlier writes visible or persistent at the peer. */
  FLUSH(rdma_h.IBV_WR_FLUSH(), RC, XRC_SEND),
  /** Writes 64 bits to the peer's memory at once. */
  ATOMIC_WRITE(rdma_h.IBV_WR_ATOMIC_WRITE(), RC, XRC_SEND);

  private final int code;
  private final Set<QueuePairType> types = EnumSet.of(DRIVER); // Whose rules are its device's.

  WorkRequestOpcode(int code, QueuePairType... types) {
    this.code = code;
    this.types.addAll(Set.of(types));
  }

  @Override
  public int code() {
    return code;
  }

  /** Whether the device writes to the memory of the side that posts the request. */
  boolean writesLocally() {
    return switch (this) {
      case RDMA_READ, ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD -> true;
      default -> false;
    };
  }

  /**
   * What the operation is called: {@code ibv_wr_opcode_str}, which verbs.h declares and no library
   * has.
   *
   * @return a text for people
   */
  public String text() {
    return Verbs.ibv_wr_opcode_str(code);
  }

  /**
   * Whether queue pairs of a type take such requests.
   *
   * @param type the type of the queue pair
   * @return true if the table in {@code ibv_post_send(3)} lists the opcode for the type
   */
  public boolean isFor(QueuePairType type) {
    return types.contains(type);
  }
}
