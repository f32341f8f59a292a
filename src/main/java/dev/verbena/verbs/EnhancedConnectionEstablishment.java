package dev.verbena.verbs;

import dev.verbena.raw.ibv_ece;
import java.lang.foreign.MemorySegment;

/**
 * What the providers of two peers agree on beyond the standard: {@code struct ibv_ece}.
 *
 * @param vendor the vendor whose options these are; 0 for none
 * @param options what only that vendor knows the meaning of
 */
public record EnhancedConnectionEstablishment(int vendor, int options) {
  static EnhancedConnectionEstablishment readFrom(MemorySegment ece) {
    return new EnhancedConnectionEstablishment(ibv_ece.vendor_id(ece), ibv_ece.options(ece));
  }

  void writeTo(MemorySegment ece) {
    ibv_ece.vendor_id(ece, vendor);
    ibv_ece.options(ece, options);
  }
}
