package dev.verbena.verbs;

/**
 * What the providers of two peers agree on beyond the standard: {@code struct ibv_ece}.
 *
 * @param vendor the vendor whose options these are; 0 for none
 * @param options what only that vendor knows the meaning of
 */
public record EnhancedConnectionEstablishment(int vendor, int options) {}
