package dev.verbena.internal.foreign;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The memory of a region, which is not freed before the region is deregistered: the device may
 * write to it until then.
 *
 * <p>Memory of an automatic arena, of a direct buffer or of a mapped buffer, which is freed when it
 * is unreachable, is kept reachable, also if the region and its context are not. An arena that is
 * closed closes the region.
 */
public final class KeptMemory {
  /** What refers to memory that is kept reachable. */
  private static final Set<Object> KEPT = ConcurrentHashMap.newKeySet();

  private MemorySegment memory;

  /** Frees the memory, or lets others free it; null after that. */
  private Runnable end;

  /** The use of memory of an arena; null if nothing closes an arena of it. */
  private ArenaRegions.Use use;

  /** Whether the region, and nothing else, frees the memory. */
  private boolean isFreed;

  private KeptMemory(MemorySegment memory, Runnable end) {
    this.memory = memory;
    this.end = end;
  }

  /**
   * Returns memory of a program, which is kept from now on.
   *
   * @throws IllegalStateException if its arena is closed
   */
  public static KeptMemory of(MemorySegment memory) {
    if (!Memory.isClosable(memory.scope())) {
      return new KeptMemory(memory, reachable(memory));
    }
    ArenaRegions.Use use = ArenaRegions.use(memory);
    KeptMemory kept = new KeptMemory(memory, use::end);
    kept.use = use;
    return kept;
  }

  private static Runnable reachable(MemorySegment memory) {
    Object[] reference = {memory}; // Equal to itself alone.
    KEPT.add(reference);
    return () -> KEPT.remove(reference);
  }

  /** Returns memory that something else keeps: it is freed by an object that closes the region. */
  public static KeptMemory notKept(MemorySegment memory) {
    return new KeptMemory(memory, () -> {});
  }

  /** Returns no memory of this process. */
  public static KeptMemory none() {
    return notKept(MemorySegment.NULL);
  }

  /** Returns memory that is freed with its region. */
  public static KeptMemory of(OwnMemory own) {
    KeptMemory kept = new KeptMemory(own.segment(), own::free);
    kept.isFreed = true;
    return kept;
  }

  /** Returns whether memory is a part of the one that is freed with its region. */
  public synchronized boolean owns(MemorySegment part) {
    return isFreed && memory.scope().equals(part.scope());
  }

  public MemorySegment segment() {
    return memory;
  }

  /** Sets the region that is registered now; returns false if the arena was closed meanwhile. */
  public synchronized boolean usedBy(AutoCloseable region) {
    return use == null || use.by(region);
  }

  /** Takes over other memory, and releases the own one. */
  public synchronized void replace(KeptMemory replacement) {
    release();
    memory = replacement.memory;
    end = replacement.handOver();
    use = replacement.use;
    isFreed = replacement.isFreed;
  }

  /** Takes over other memory in addition to the own one. */
  public synchronized void add(KeptMemory other) {
    Runnable own = end;
    Runnable added = other.handOver();
    end =
        () -> {
          own.run();
          added.run();
        };
  }

  private synchronized Runnable handOver() {
    Runnable action = end;
    end = null;
    return action;
  }

  /** Stops keeping the memory, when the device no longer uses it. */
  public synchronized void release() {
    Runnable action = handOver();
    if (action != null) {
      action.run();
    }
  }

  @Override
  public String toString() {
    return "kept " + memory;
  }
}
