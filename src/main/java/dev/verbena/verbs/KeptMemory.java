package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The memory of a region, which stays reachable until it is deregistered.
 *
 * <p>Memory of an automatic arena, of a direct buffer or of a buffer that is mapped is freed once
 * nothing refers to it. A region that was never closed and became unreachable, with its context,
 * would let go of memory that the device may still write to.
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
    // What an arena has to close is not freed otherwise. It must not be kept: the arena may refer
    // to
    // the region, by closedWith, and so to the context, which then would never be reported as
    // leaked.
    if (Memory.isClosable(replacement.scope())) {
      KEPT.remove(this);
    } else {
      KEPT.add(this);
    }
  }

  /** Lets go of the memory, once the device no longer uses it. */
  void release() {
    KEPT.remove(this);
  }

  @Override
  public String toString() {
    return "kept " + memory;
  }
}
