package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What a completed work request did: {@code enum ibv_wc_opcode}. */
public enum CompletionOpcode implements Codes.Code {
  /** A send, with or without immediate data or invalidation. */
  SEND(rdma_h.IBV_WC_SEND()),
  /** A write to the peer's memory. */
  RDMA_WRITE(rdma_h.IBV_WC_RDMA_WRITE()),
  /** A read from the peer's memory. */
  RDMA_READ(rdma_h.IBV_WC_RDMA_READ()),
  /** A compare and swap. */
  ATOMIC_CMP_AND_SWP(rdma_h.IBV_WC_COMP_SWAP()),
  /** A fetch and add. */
  ATOMIC_FETCH_AND_ADD(rdma_h.IBV_WC_FETCH_ADD()),
  /** A memory window was bound. */
  BIND_MW(rdma_h.IBV_WC_BIND_MW()),
  /** A local key was made invalid. */
  LOCAL_INV(rdma_h.IBV_WC_LOCAL_INV()),
  /** A stream was sent in TCP segments. */
  TSO(rdma_h.IBV_WC_TSO()),
  /** A flush of the peer's memory. */
  FLUSH(rdma_h.IBV_WC_FLUSH()),
  /** An atomic write. */
  ATOMIC_WRITE(rdma_h.IBV_WC_ATOMIC_WRITE()),
  /** A receive took a message. */
  RECV(rdma_h.IBV_WC_RECV()),
  /** A receive was used up by a write with immediate data. */
  RECV_RDMA_WITH_IMM(rdma_h.IBV_WC_RECV_RDMA_WITH_IMM()),
  /** A tag was added to a matching list. */
  TM_ADD(rdma_h.IBV_WC_TM_ADD()),
  /** A tag was taken from a matching list. */
  TM_DEL(rdma_h.IBV_WC_TM_DEL()),
  /** A matching list was synchronised. */
  TM_SYNC(rdma_h.IBV_WC_TM_SYNC()),
  /** A message arrived for a matching list. */
  TM_RECV(rdma_h.IBV_WC_TM_RECV()),
  /** A message without a tag arrived. */
  TM_NO_TAG(rdma_h.IBV_WC_TM_NO_TAG()),
  /** An operation of the device's own. */
  DRIVER1(rdma_h.IBV_WC_DRIVER1()),
  /** An operation of the device's own. */
  DRIVER2(rdma_h.IBV_WC_DRIVER2()),
  /** An operation of the device's own. */
  DRIVER3(rdma_h.IBV_WC_DRIVER3()),
  /** An operation that is newer than this library. */
  UNKNOWN(-1);

  private static final CompletionOpcode[] BY_CODE = byCode();

  private final int code;

  CompletionOpcode(int code) {
    this.code = code;
  }

  private static CompletionOpcode[] byCode() {
    CompletionOpcode[] table = new CompletionOpcode[DRIVER3.code + 1];
    for (int code = 0; code < table.length; code++) {
      table[code] = Codes.of(CompletionOpcode.class, code, UNKNOWN);
    }
    return table;
  }

  /**
   * The opcode with a number; allocates nothing.
   *
   * @param code a number of C
   * @return the opcode, {@link #UNKNOWN} if the number is newer than this library
   */
  public static CompletionOpcode of(int code) {
    return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : UNKNOWN;
  }

  @Override
  public int code() {
    return code;
  }
}
