package dev.verbena.cm;

/**
 * What the vendors of two devices agree on beyond the specification (enhanced connection
 * establishment): {@code struct ibv_ece}.
 *
 * @param vendorId whose options these are; 0 where the device knows none
 * @param options bits that the vendor defines
 */
public record EnhancedConnection(int vendorId, int options) {}
