package dev.verbena.soft.device;

import dev.verbena.raw.ibv_ah;

/** An address handle. */
public final class SoftAddressHandle extends SoftObject {
  public final SoftDomain domain;
  public final SoftAddressVector vector;

  /** The number of its destination in the device. */
  public final int number;

  public SoftAddressHandle(SoftDomain domain, SoftAddressVector vector) {
    super(domain.context, domain.struct(ibv_ah.layout()), domain);
    this.domain = domain;
    this.vector = vector;
    this.number = domain.peers.add(vector.destination());
  }

  @Override
  protected void end() {
    domain.peers.remove(vector.destination());
  }
}
