package dev.verbena.cm;

import dev.verbena.raw.rdma_h;

/** How a multicast group is joined: {@code enum rdma_cm_mc_join_flags}. */
public enum JoinFlag {
  /** To send and receive; the group is made if there is none. */
  FULLMEMBER(rdma_h.RDMA_MC_JOIN_FLAG_FULLMEMBER()),
  /** Only to send. */
  SENDONLY_FULLMEMBER(rdma_h.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER());

  private final int code;

  JoinFlag(int code) {
    this.code = code;
  }

  int code() {
    return code;
  }
}
