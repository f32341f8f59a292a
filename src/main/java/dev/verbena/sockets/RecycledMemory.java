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

  static final RecycledMemory OF_STREAMS = new RecycledMemory();

  /** Memory that nothing uses, the last one first: its pages may still be in a cache. */
  private final Deque<OwnMemory> kept = new ArrayDeque<>(MOST);

  /** Returns memory with any content. */
  OwnMemory take(long size) {
    synchronized (kept) {
      for (OwnMemory memory : kept) {
        if (memory.segment().byteSize() == size) {
          boolean _ = kept.remove(memory);
          return memory;
        }
      }
    }
    return new OwnMemory(arena -> MappedMemory.map(size, 1, 0, arena));
  }

  /** Takes back memory that no device can access any more. */
  void release(OwnMemory memory) {
    OwnMemory freed = memory;
    synchronized (kept) {
      if (memory.segment().byteSize() <= LARGEST) {
        kept.push(memory);
        freed = kept.size() > MOST ? kept.removeLast() : null;
      }
    }
    if (freed != null) {
      freed.free();
    }
  }
}
