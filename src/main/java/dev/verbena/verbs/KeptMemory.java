package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps the memory of a region reachable until the region is deregistered.
 *
 * <p>Memory of an automatic arena, of a direct buffer or of a mapped buffer is freed when it is
 * unreachable. A region that is not closed and becomes unreachable together with its context must
 * not free memory that the device may still write to.
 */
final class KeptMemory {
  private static final Set<KeptMemory> KEPT = ConcurrentHashMap.newKeySet();

  private MemorySegment memory;

  /** Keeps memory until {@link #release}. */
  KeptMemory(MemorySegment memory) {
    replace(memory);
  }

  /** Keeps other memory instead. */
  void replace(MemorySegment replacement) {
    memory = replacement;
    // Memory of an arena that has to be closed is not freed before. It must not be kept: the arena
    // may refer to the region, by closedWith, and so to the context, whose leak would never be
    // reported.
    if (Memory.isClosable(replacement.scope())) {
      KEPT.remove(this);
    } else {
      KEPT.add(this);
    }
  }

  /** Stops keeping the memory, when the device no longer uses it. */
  void release() {
    KEPT.remove(this);
  }

  @Override
  public String toString() {
    return "kept " + memory;
  }
}
