package dev.verbena.efa;

import java.util.OptionalInt;

/**
 * The interconnects, such as PCI buses, by which an EFA reaches a memory region: {@code struct
 * efadv_mr_attr}. Regions of one interconnect compete for its bandwidth.
 */
public final class EfaInterconnects {
  private final OptionalInt receive;
  private final OptionalInt rdmaRead;
  private final OptionalInt rdmaReceive;

  EfaInterconnects(OptionalInt receive, OptionalInt rdmaRead, OptionalInt rdmaReceive) {
    this.receive = receive;
    this.rdmaRead = rdmaRead;
    this.rdmaReceive = rdmaReceive;
  }

  /** {@return the number of the interconnect of received messages, if known} */
  public OptionalInt receive() {
    return receive;
  }

  /** {@return the number of the interconnect of RDMA reads of this side, if known} */
  public OptionalInt rdmaRead() {
    return rdmaRead;
  }

  /** {@return the number of the interconnect of RDMA writes of the remote side, if known} */
  public OptionalInt rdmaReceive() {
    return rdmaReceive;
  }

  @Override
  public String toString() {
    return "receive %s, RDMA read %s, RDMA receive %s".formatted(receive, rdmaRead, rdmaReceive);
  }
}
