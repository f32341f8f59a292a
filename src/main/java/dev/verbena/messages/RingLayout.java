package dev.verbena.messages;

import dev.verbena.internal.life.Core;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.ValueLayout;

/**
 * The memory of a one-sided ring: two counters of bytes in cache lines of their own, then the
 * messages. Each message begins with its length and starts at a multiple of eight bytes; none
 * crosses the end of the ring, where padding fills the rest.
 */
final class RingLayout {
  /** The counter of the bytes that are there to be read, which the writer writes. */
  static final long PUBLISHED = 0;

  /** The counter of the bytes that were read, which the reader writes and the writer reads. */
  static final long CONSUMED = 64;

  /** The messages. */
  static final long DATA = 128;

  /** The bytes before a message, with its length. */
  static final int HEADER = 8;

  /** In place of a length: the ring continues at its beginning. */
  static final int PADDING = -1;

  static final ValueLayout.OfInt LENGTH = ValueLayout.JAVA_INT;

  /** The highest position at which a ring begins: from there, its counters do not overflow. */
  static final long LAST_START = 1L << 62;

  private static final long LEAST = 64;
  private static final long MOST = 1L << 30;

  private RingLayout() {}

  /** Allocates a ring, and memory behind it. */
  static MemoryRegion allocate(
      ProtectionDomain domain, long capacity, long behind, AccessFlag... access) {
    if (Long.bitCount(capacity) != 1 || capacity < LEAST || capacity > MOST) {
      throw new IllegalArgumentException(
          "the capacity of a ring must be a power of two from %d to %d: %d"
              .formatted(LEAST, MOST, capacity));
    }
    return domain.allocateMemory(DATA + capacity + behind, access);
  }

  /** Names the ring in the exception of a call during which it was closed: the JDK does not. */
  static IllegalStateException explained(
      IllegalStateException e, MemoryRegion region, AutoCloseable ring) {
    return Core.of(region).isOpen()
        ? e
        : new IllegalStateException("the ring is closed: " + ring, e);
  }

  /** Returns the bytes that a message takes in the ring. */
  static long sizeOf(long length) {
    return HEADER + (length + Long.BYTES - 1) / Long.BYTES * Long.BYTES;
  }

  /** Returns the longest message: it fits wherever the ring has its end. */
  static long longest(long capacity) {
    return capacity / 2 - HEADER;
  }
}
