package dev.verbena.soft.device;

/** An address handle. */
public final class SoftAddressHandle extends SoftObject {
  public final SoftDomain domain;
  public final AddressVector vector;

  /** The number of its destination in the device. */
  public final int number;

  public SoftAddressHandle(SoftDomain domain, CStruct struct, AddressVector vector) {
    super(domain.device, struct);
    this.domain = domain;
    this.vector = vector;
    this.number = domain.peers.add(vector.destination());
  }
}
