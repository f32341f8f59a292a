package dev.verbena.cm;

import dev.verbena.raw.rdma_h;

/** The kind of membership in a multicast group: {@code enum rdma_cm_mc_join_flags}. */
public enum JoinFlag {
  /** Sends and receives; the group is created if it does not exist. */
  FULLMEMBER(rdma_h.RDMA_MC_JOIN_FLAG_FULLMEMBER()),
  /** Sends only. */
  SENDONLY_FULLMEMBER(rdma_h.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER());

  private final int code;

  JoinFlag(int code) {
    this.code = code;
  }

  int code() {
    return code;
  }
}
