package dev.verbena.messages;

import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory for large values, up to a number of bytes: to register memory takes longer than
 * to copy it. Regions are closed with their domain. Any thread may call any method.
 */
final class RegionPool {
  private static final int SMALLEST = 12;
  private static final int SIZES = 32;

  private final ProtectionDomain domain;
  private final AccessFlag[] access;
  private final long most;

  /** The free regions of each size, 4 KiB and powers of two. */
  private final Deque<MemoryRegion>[] free = newDeques();

  /** The bytes of all regions. */
  private long bytes;

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Deque<MemoryRegion>[] newDeques() {
    Deque<MemoryRegion>[] deques = new Deque[SIZES];
    for (int i = 0; i < SIZES; i++) {
      deques[i] = new ArrayDeque<>();
    }
    return deques;
  }

  /**
   * Creates a pool without memory.
   *
   * @param most the maximum number of bytes
   */
  RegionPool(ProtectionDomain domain, long most, AccessFlag... access) {
    this.domain = domain;
    this.most = Math.min(most, 1L << (SMALLEST + SIZES - 1));
    this.access = access;
  }

  /** Returns the bytes of the region for a number of bytes. */
  static long sizeOf(long length) {
    return 1L << Math.max(SMALLEST, Long.SIZE - Long.numberOfLeadingZeros(length - 1));
  }

  /** Returns the maximum number of bytes. */
  long most() {
    return most;
  }

  /**
   * Takes a region with room for a number of bytes; null if others have the memory.
   *
   * @throws RuntimeException if memory cannot be registered
   */
  synchronized @Nullable MemoryRegion take(long length) {
    long size = sizeOf(length);
    MemoryRegion region = of(size).pollFirst();
    if (region != null) {
      return region;
    }
    for (int i = SIZES - 1; i >= 0 && bytes + size > most; i--) {
      closeSome(free[i], size);
    }
    if (bytes + size > most) {
      return null;
    }
    region = domain.allocateMemory(size, access);
    bytes += size;
    return region;
  }

  private void closeSome(Deque<MemoryRegion> regions, long wanted) {
    while (bytes + wanted > most && !regions.isEmpty()) {
      MemoryRegion region = regions.removeLast();
      bytes -= region.length();
      region.close();
    }
  }

  private Deque<MemoryRegion> of(long size) {
    return free[Long.numberOfTrailingZeros(size) - SMALLEST];
  }

  /** Takes back a region that no device accesses any more. */
  synchronized void give(MemoryRegion region) {
    of(region.length()).addFirst(region);
  }
}
