package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Memory that a region owns: whole pages, so that no page is shared with memory that a child
 * process uses after a fork.
 */
final class OwnMemory {
  /** Memory that could not be freed yet, since a thread used it in a system call. */
  private static final Queue<OwnMemory> IN_USE = new ConcurrentLinkedQueue<>();

  private static final long PAGE = Memory.pageSize();

  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;

  /** Allocates zeroed memory. */
  OwnMemory(long size) {
    if (size < 1) {
      throw new IllegalArgumentException("the size of a memory region must be positive: " + size);
    }
    if (size > Long.MAX_VALUE - 2 * PAGE) {
      throw new OutOfMemoryError("a memory region of " + size + " bytes");
    }
    try {
      segment = arena.allocate(Math.ceilDiv(size, PAGE) * PAGE, PAGE).asSlice(0, size);
    } catch (OutOfMemoryError e) {
      arena.close();
      throw e;
    }
  }

  MemorySegment segment() {
    return segment;
  }

  /** Frees the memory, or if it is in use, when other memory is freed later. */
  void free() {
    IN_USE.add(this);
    IN_USE.removeIf(OwnMemory::isFreed);
  }

  private boolean isFreed() {
    try {
      arena.close();
    } catch (IllegalStateException inUseOrFreed) {
      return !arena.scope().isAlive();
    }
    return true;
  }
}
