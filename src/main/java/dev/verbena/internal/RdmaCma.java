package dev.verbena.internal;

import dev.verbena.raw.rdma_addr;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_route;

/**
 * The inline functions of rdma_cma.h. Those of rdma_verbs.h make a request for each call; {@code
 * dev.verbena.cm.Transfers} has them over prepared requests instead.
 */
public final class RdmaCma {
  private static final long LOCAL = rdma_cm_id.route$offset() + rdma_route.addr$offset();
  private static final long PEER = LOCAL + Abi.current().offsetOf(rdma_addr.layout(), "dst_addr");

  private RdmaCma() {}

  /** The address of the identifier's own {@code sockaddr}. */
  public static long rdma_get_local_addr(long id) {
    return id + LOCAL;
  }

  /** The address of the peer's {@code sockaddr}. */
  public static long rdma_get_peer_addr(long id) {
    return id + PEER;
  }
}
