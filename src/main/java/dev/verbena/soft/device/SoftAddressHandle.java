package dev.verbena.soft.device;

/** An address handle. */
public final class SoftAddressHandle extends SoftObject {
  public final SoftDomain domain;
  public final AddressVector vector;

  public SoftAddressHandle(SoftDomain domain, CStruct struct, AddressVector vector) {
    super(domain.device, struct);
    this.domain = domain;
    this.vector = vector;
  }
}
