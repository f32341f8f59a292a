package dev.verbena.internal;

import dev.verbena.internal.foreign.Abi;
import dev.verbena.raw.rdma_addr;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_route;

/**
 * The inline functions of rdma_cma.h. Those of rdma_verbs.h, which build a request for each call,
 * are in {@code dev.verbena.cm.Transfers}, with preformatted requests.
 */
public final class RdmaCma {
  private static final long LOCAL = rdma_cm_id.route$offset() + rdma_route.addr$offset();
  private static final long PEER = LOCAL + Abi.current().offsetOf(rdma_addr.layout(), "dst_addr");

  private RdmaCma() {}

  /** Returns the address of the identifier's local {@code sockaddr}. */
  public static long rdma_get_local_addr(long id) {
    return id + LOCAL;
  }

  /** Returns the address of the peer's {@code sockaddr}. */
  public static long rdma_get_peer_addr(long id) {
    return id + PEER;
  }
}
