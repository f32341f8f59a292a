package dev.verbena.s3;

import dev.verbena.VerbsException;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/**
 * The registered memory for an endpoint on a device, up to a number of bytes. A region is one
 * buffer, so that a remote key opens no other one, and has the access for one direction.
 */
final class Buffers {
  /** 64 KiB. */
  private static final int SMALLEST = 16;

  private static final long HUGE_PAGE = 2 << 20;

  /** Which way the data goes. */
  enum Direction {
    /** The server reads the memory. */
    PUT(AccessFlag.REMOTE_READ),
    /** The server writes to the memory. */
    GET(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);

    private final AccessFlag[] access;

    Direction(AccessFlag... access) {
      this.access = access;
    }
  }

  private record Kind(Direction direction, long size) {}

  private final ProtectionDomain domain;
  private final long most;
  private final Counters counters;

  private final Map<Kind, Deque<MemoryRegion>> free = new HashMap<>();

  private long bytes;
  private boolean hugePages = true;

  Buffers(ProtectionDomain domain, long most, Counters counters) {
    this.domain = domain;
    this.most = most;
    this.counters = counters;
  }

  /** Returns the bytes of the region for a number of bytes. */
  static long sizeOf(long length) {
    return 1L << Math.max(SMALLEST, Long.SIZE - Long.numberOfLeadingZeros(length - 1));
  }

  private Deque<MemoryRegion> of(Direction direction, long size) {
    return free.computeIfAbsent(new Kind(direction, size), _ -> new ArrayDeque<>());
  }

  /**
   * Takes a region with room for a number of bytes; null if others have the memory.
   *
   * @throws RuntimeException if memory cannot be registered
   */
  MemoryRegion take(Direction direction, long length) {
    long size = sizeOf(length);
    synchronized (this) {
      MemoryRegion region = of(direction, size).pollLast();
      if (region != null) {
        return region;
      }
      makeRoom(size);
      if (bytes + size > most) {
        return null;
      }
      bytes += size; // Others go on while this thread registers.
    }
    try {
      MemoryRegion region = register(size, direction);
      counters.count(S3Counter.REGISTRATIONS);
      return region;
    } catch (Throwable t) {
      synchronized (this) {
        bytes -= size;
      }
      throw t;
    }
  }

  private void makeRoom(long size) {
    for (Deque<MemoryRegion> regions : free.values()) {
      while (bytes + size > most && !regions.isEmpty()) {
        close(regions.pollFirst());
      }
    }
  }

  private MemoryRegion register(long size, Direction direction) {
    if (hugePages && size >= HUGE_PAGE) {
      try {
        return domain
            .memory(size)
            .hugePages(HUGE_PAGE)
            .nearDevice()
            .access(direction.access)
            .allocate();
      } catch (VerbsException e) { // Too few are reserved: most hosts have none.
        hugePages = false;
        Log.LOGGER.log(System.Logger.Level.DEBUG, "without huge pages", e);
      }
    }
    return domain.memory(size).nearDevice().access(direction.access).allocate();
  }

  /** Takes back a region which no peer accesses any more. */
  synchronized void giveBack(MemoryRegion region) {
    if (region.isOpen()) {
      Direction direction =
          region.access().contains(AccessFlag.REMOTE_READ) ? Direction.PUT : Direction.GET;
      of(direction, region.length()).addLast(region);
    }
  }

  /**
   * Deregisters a region that a peer may still access, and frees its memory. If that fails, the
   * memory stays out of use.
   */
  synchronized void discard(MemoryRegion region) {
    counters.count(S3Counter.DISCARDED);
    close(region);
  }

  private void close(MemoryRegion region) {
    long size = region.length();
    try {
      region.close();
      bytes -= size;
    } catch (RuntimeException e) {
      Log.LOGGER.log(
          System.Logger.Level.WARNING, size + " bytes of memory stay registered: " + region, e);
    }
  }

  /** {@return the bytes of all regions} */
  synchronized long bytes() {
    return bytes;
  }

  /** {@return the bytes of the regions that nothing uses} */
  synchronized long freeBytes() {
    return free.values().stream().flatMap(Deque::stream).mapToLong(MemoryRegion::length).sum();
  }
}
