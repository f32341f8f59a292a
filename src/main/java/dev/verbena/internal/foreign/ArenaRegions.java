package dev.verbena.internal.foreign;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The regions whose memory is of one arena. Closing the arena closes them, since the device may
 * write to their memory until then.
 *
 * <p>The JDK calls the actions of an arena when it is closed, the newest first, and an allocation
 * is freed by such an action: one that is added after the allocation runs before the memory is
 * freed. Only a confined arena frees what it has allocated first before it calls other actions.
 */
final class ArenaRegions {
  private static final Map<MemorySegment.Scope, WeakReference<ArenaRegions>> ALL =
      new WeakHashMap<>();

  /**
   * The memory, as start and end of each range, for which the arena has an action: registering the
   * same memory again adds none.
   */
  private final NavigableMap<Long, Long> guarded = new TreeMap<>();

  private final Set<Use> uses = new LinkedHashSet<>();
  private boolean closed;

  private ArenaRegions() {}

  /** The use of memory by a region, which is registered or about to be. */
  final class Use {
    /**
     * Null until the region is registered. Weak, since an arena that is reachable would otherwise
     * keep a context from being reported as a leak.
     */
    private @Nullable WeakReference<AutoCloseable> region;

    /** Closes the region with the arena from now on; returns false if the arena is closed. */
    boolean by(AutoCloseable user) {
      synchronized (ArenaRegions.this) {
        region = new WeakReference<>(user);
        return !closed;
      }
    }

    /** The region is closed. */
    void end() {
      synchronized (ArenaRegions.this) {
        uses.remove(this);
      }
    }

    /** An arena frees its memory even if an action throws an exception, but not after an error. */
    private void close() {
      if (region == null) {
        return; // It is being registered, and no device has its keys.
      }
      AutoCloseable open = region.get();
      if (open == null) {
        throw new Error(
            "a memory region was not closed before it became unreachable" + staysAllocated());
      }
      try {
        open.close();
      } catch (Exception e) {
        throw new Error(open + " cannot be closed" + staysAllocated(), e);
      }
    }

    private static String staysAllocated() {
      return "; the memory of its arena stays allocated, since the device may write to it";
    }
  }

  /**
   * Begins the use of memory of an arena.
   *
   * @throws IllegalStateException if the arena is closed
   */
  static Use use(MemorySegment memory) {
    return of(memory.scope()).begin(memory);
  }

  static ArenaRegions of(MemorySegment.Scope scope) {
    synchronized (ALL) {
      WeakReference<ArenaRegions> known = ALL.get(scope);
      ArenaRegions regions = known == null ? null : known.get();
      if (regions == null) {
        regions = new ArenaRegions();
        ALL.put(scope, new WeakReference<>(regions));
      }
      return regions;
    }
  }

  private synchronized Use begin(MemorySegment memory) {
    long start = memory.address();
    long end = start + memory.byteSize();
    Map.Entry<Long, Long> before = guarded.floorEntry(start);
    if (before == null || before.getValue() < end) {
      Memory.beforeFree(memory.scope(), this::closeAll);
      guarded.merge(start, end, Math::max);
    }
    Use use = new Use();
    uses.add(use);
    return use;
  }

  private void closeAll() {
    List<Use> open;
    synchronized (this) {
      closed = true;
      open = List.copyOf(uses);
    }
    open.forEach(Use::close);
  }

  @Override
  public synchronized String toString() {
    return uses.size() + " memory regions in " + guarded.size() + " ranges of an arena";
  }
}
