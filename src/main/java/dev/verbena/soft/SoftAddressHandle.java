package dev.verbena.soft;

/** An address handle. */
final class SoftAddressHandle extends SoftObject {
  final SoftDomain domain;
  final AddressVector vector;

  SoftAddressHandle(SoftDomain domain, CStruct struct, AddressVector vector) {
    super(domain.device, struct);
    this.domain = domain;
    this.vector = vector;
  }
}
