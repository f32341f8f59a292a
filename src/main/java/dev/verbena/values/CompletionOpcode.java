package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.internal.Codes;
import dev.verbena.raw.rdma_h;

/** The operation of a work completion: {@code enum ibv_wc_opcode}. */
public enum CompletionOpcode implements NativeConstant {
  /** A send, with or without immediate data or invalidation. */
  SEND(rdma_h.IBV_WC_SEND()),
  /** An RDMA write. */
  RDMA_WRITE(rdma_h.IBV_WC_RDMA_WRITE()),
  /** An RDMA read. */
  RDMA_READ(rdma_h.IBV_WC_RDMA_READ()),
  /** An atomic compare and swap. */
  ATOMIC_CMP_AND_SWP(rdma_h.IBV_WC_COMP_SWAP()),
  /** An atomic fetch and add. */
  ATOMIC_FETCH_AND_ADD(rdma_h.IBV_WC_FETCH_ADD()),
  /** The binding of a memory window. */
  BIND_MW(rdma_h.IBV_WC_BIND_MW()),
  /** A local invalidation. */
  LOCAL_INV(rdma_h.IBV_WC_LOCAL_INV()),
  /** A send with TCP segmentation offload (TSO). */
  TSO(rdma_h.IBV_WC_TSO()),
  /** A flush of remote memory. */
  FLUSH(rdma_h.IBV_WC_FLUSH()),
  /** An atomic write. */
  ATOMIC_WRITE(rdma_h.IBV_WC_ATOMIC_WRITE()),
  /** A receive of a message. */
  RECV(rdma_h.IBV_WC_RECV()),
  /** A receive of an RDMA write with immediate data. */
  RECV_RDMA_WITH_IMM(rdma_h.IBV_WC_RECV_RDMA_WITH_IMM()),
  /** The addition of a tag to a tag list. */
  TM_ADD(rdma_h.IBV_WC_TM_ADD()),
  /** The removal of a tag from a tag list. */
  TM_DEL(rdma_h.IBV_WC_TM_DEL()),
  /** The synchronization of a tag list. */
  TM_SYNC(rdma_h.IBV_WC_TM_SYNC()),
  /** A receive of a message by tag matching. */
  TM_RECV(rdma_h.IBV_WC_TM_RECV()),
  /** A receive of a message without a tag. */
  TM_NO_TAG(rdma_h.IBV_WC_TM_NO_TAG()),
  /** A provider-specific operation. */
  DRIVER1(rdma_h.IBV_WC_DRIVER1()),
  /** A provider-specific operation. */
  DRIVER2(rdma_h.IBV_WC_DRIVER2()),
  /** A provider-specific operation. */
  DRIVER3(rdma_h.IBV_WC_DRIVER3()),
  /** An operation that this library does not know. */
  UNKNOWN(-1);

  private static final CompletionOpcode[] BY_CODE = byCode();

  private final int code;

  CompletionOpcode(int code) {
    this.code = code;
  }

  private static CompletionOpcode[] byCode() {
    CompletionOpcode[] table = new CompletionOpcode[DRIVER3.code + 1];
    for (int code = 0; code < table.length; code++) {
      CompletionOpcode known = Codes.find(CompletionOpcode.class, code);
      table[code] = known == null ? UNKNOWN : known;
    }
    return table;
  }

  /**
   * {@return the constant of a code, or {@link #UNKNOWN}; allocates nothing}
   *
   * @param code a value of {@code enum ibv_wc_opcode}
   */
  public static CompletionOpcode of(int code) {
    return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : UNKNOWN;
  }

  @Override
  public int code() {
    return code;
  }
}
