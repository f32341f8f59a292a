package dev.verbena.s3;

import dev.verbena.VerbsException;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
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
  private final Runnable ended;

  private final Map<Kind, Deque<MemoryRegion>> free = new HashMap<>();

  private long bytes;
  private int used;
  private boolean isEnding;
  private boolean hugePages = true;

  /**
   * Creates them.
   *
   * @param most the maximum number of bytes
   * @param ended runs after {@link #end}, when the last buffer was given back
   */
  Buffers(ProtectionDomain domain, long most, Counters counters, Runnable ended) {
    this.domain = domain;
    this.most = most;
    this.counters = counters;
    this.ended = ended;
  }

  /** Returns the bytes of the region for a number of bytes. */
  static long sizeOf(long length) {
    return 1L << Math.max(SMALLEST, Long.SIZE - Long.numberOfLeadingZeros(length - 1));
  }

  private Deque<MemoryRegion> of(Direction direction, long size) {
    return free.computeIfAbsent(new Kind(direction, size), _ -> new ArrayDeque<>());
  }

  /**
   * Takes a region with room for a number of bytes; null if others have the memory, or after {@link
   * #end}.
   *
   * @throws RuntimeException if memory cannot be registered
   */
  MemoryRegion take(Direction direction, long length) {
    long size = sizeOf(length);
    synchronized (this) {
      MemoryRegion region = of(direction, size).pollLast();
      if (region == null && bytes - freeBytes() + size <= most) {
        makeRoom(size);
      }
      if (isEnding || region == null && bytes + size > most) {
        return null;
      }
      used++;
      if (region != null) {
        return region;
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
      release();
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

  /** Registers memory of the program, for reads; it is not one of the buffers. */
  MemoryRegion register(MemorySegment memory) {
    MemoryRegion region = domain.registerMemory(memory, Direction.PUT.access);
    counters.count(S3Counter.REGISTRATIONS);
    return region;
  }

  /**
   * Takes back a region.
   *
   * @param isFree whether no peer accesses it any more; otherwise it is deregistered, and if that
   *     fails, the memory stays out of use
   */
  void giveBack(MemoryRegion region, boolean isFree) {
    synchronized (this) {
      if (!isFree) {
        close(region);
      } else if (region.isOpen()) {
        Direction direction =
            region.access().contains(AccessFlag.REMOTE_READ) ? Direction.PUT : Direction.GET;
        of(direction, region.length()).addLast(region);
      }
    }
    release();
  }

  private void release() {
    boolean isLast;
    synchronized (this) {
      used--;
      isLast = isEnding && used == 0;
    }
    if (isLast) {
      ended.run();
    }
  }

  /** No region is taken from now on. */
  void end() {
    synchronized (this) {
      if (isEnding) {
        return;
      }
      isEnding = true;
      used++;
    }
    release();
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
