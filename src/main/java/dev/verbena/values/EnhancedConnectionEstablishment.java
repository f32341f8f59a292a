package dev.verbena.values;

/**
 * The options for enhanced connection establishment (ECE), which two providers agree on beyond the
 * standard: {@code struct ibv_ece}.
 *
 * @param vendor the vendor ID; 0 for no options
 * @param options the vendor-specific options
 */
public record EnhancedConnectionEstablishment(int vendor, int options) {}
