package dev.verbena.disni;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Memory that a test knows the address of. */
final class MemoryOf {
  private MemoryOf() {}

  static long longAt(long address) {
    return MemorySegment.ofAddress(address)
        .reinterpret(Long.BYTES)
        .get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
  }
}
