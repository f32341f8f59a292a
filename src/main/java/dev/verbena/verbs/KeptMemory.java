package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The memory of a region, which is not freed before the region is deregistered: the device may
 * write to it until then.
 *
 * <p>Memory of an automatic arena, of a direct buffer or of a mapped buffer, which is freed when it
 * is unreachable, is kept reachable, also if the region and its context are not.
 */
final class KeptMemory {
  /** What refers to memory that is kept reachable. */
  private static final Set<Object> KEPT = ConcurrentHashMap.newKeySet();

  private MemorySegment memory;

  /** Frees the memory, or lets others free it; null after that. */
  private Runnable end;

  private KeptMemory(MemorySegment memory, Runnable end) {
    this.memory = memory;
    this.end = end;
  }

  /** Returns memory of a program, which is kept from now on. */
  static KeptMemory of(MemorySegment memory) {
    MemorySegment.Scope scope = memory.scope();
    return Memory.isClosable(scope) ? notKept(memory) : new KeptMemory(memory, reachable(memory));
  }

  private static Runnable reachable(MemorySegment memory) {
    Object[] reference = {memory}; // Equal to itself alone.
    KEPT.add(reference);
    return () -> KEPT.remove(reference);
  }

  /**
   * Returns memory that something else keeps: it is freed by an object that closes the region
   * first. It must not be kept reachable: an arena refers to the region that is closed with it, and
   * so to the context, which then would never be reported as leaked.
   */
  static KeptMemory notKept(MemorySegment memory) {
    return new KeptMemory(memory, () -> {});
  }

  /** Returns no memory of this process. */
  static KeptMemory none() {
    return notKept(MemorySegment.NULL);
  }

  /** Returns memory that is freed with its region. */
  static KeptMemory of(OwnMemory own) {
    return new KeptMemory(own.segment(), own::free);
  }

  MemorySegment segment() {
    return memory;
  }

  /** Takes over other memory, and releases the own one. */
  synchronized void replace(KeptMemory replacement) {
    release();
    memory = replacement.memory;
    end = replacement.end;
  }

  /** Stops keeping the memory, when the device no longer uses it. */
  synchronized void release() {
    Runnable action = end;
    end = null;
    if (action != null) {
      action.run();
    }
  }

  @Override
  public String toString() {
    return "kept " + memory;
  }
}
