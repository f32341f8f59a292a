package dev.verbena.internal.foreign;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;

/**
 * Memory that a region owns: whole pages, so that no page is shared with memory that a child
 * process uses after a fork.
 */
public final class OwnMemory {
  /** Memory that could not be freed yet, since a thread used it in a system call. */
  private static final Queue<OwnMemory> IN_USE = new ConcurrentLinkedQueue<>();

  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;

  /** Allocates memory by a function, which frees it when the arena is closed. */
  public OwnMemory(Function<Arena, MemorySegment> allocation) {
    try {
      segment = allocation.apply(arena);
    } catch (Throwable t) {
      arena.close();
      throw t;
    }
  }

  public MemorySegment segment() {
    return segment;
  }

  /** Frees the memory, or if it is in use, when other memory is freed later. */
  public void free() {
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
