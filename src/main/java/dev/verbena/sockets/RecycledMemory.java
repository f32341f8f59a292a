package dev.verbena.sockets;

import dev.verbena.internal.foreign.MappedMemory;
import dev.verbena.internal.foreign.OwnMemory;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Whole pages for a stream, which may be those of a stream that has ended: to map pages, to touch
 * and to unmap them can take longer than all else of a connection.
 */
final class RecycledMemory {
  /** The size of the largest memory that is kept. */
  private static final int LARGEST = 1 << 20;

  /** How many are kept at most: those of streams which end while others begin. */
  private static final int MOST = 16;

  /** Memory that nothing uses, the last one first: its pages may still be in a cache. */
  private static final Deque<OwnMemory> KEPT = new ArrayDeque<>(MOST);

  private RecycledMemory() {}

  /** Returns memory with any content. */
  static OwnMemory take(long size) {
    synchronized (KEPT) {
      for (OwnMemory memory : KEPT) {
        if (memory.segment().byteSize() == size) {
          boolean _ = KEPT.remove(memory);
          return memory;
        }
      }
    }
    return new OwnMemory(arena -> MappedMemory.map(size, 1, 0, arena));
  }

  /** Takes back memory that no device can access any more. */
  static void release(OwnMemory memory) {
    OwnMemory freed = memory;
    synchronized (KEPT) {
      if (memory.segment().byteSize() <= LARGEST) {
        KEPT.push(memory);
        freed = KEPT.size() > MOST ? KEPT.removeLast() : null;
      }
    }
    if (freed != null) {
      freed.free();
    }
  }
}
