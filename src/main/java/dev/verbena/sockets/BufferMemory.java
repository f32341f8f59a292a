package dev.verbena.sockets;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The segment of the direct buffer that was passed last. A program usually passes the same buffer
 * repeatedly, in particular while it waits for data without blocking: then no segment is allocated.
 */
final class BufferMemory {
  /** Weak references, so that a channel does not keep a buffer reachable. */
  private WeakReference<@Nullable ByteBuffer> buffer = new WeakReference<>(null);

  private WeakReference<@Nullable MemorySegment> memory = new WeakReference<>(null);

  /** Returns the memory of a direct buffer, from index 0 to its capacity. */
  MemorySegment of(ByteBuffer direct) {
    MemorySegment last = memory.get();
    if (last != null && buffer.refersTo(direct)) {
      return last;
    }
    MemorySegment found = MemorySegment.ofBuffer(direct.duplicate().clear());
    buffer = new WeakReference<>(direct);
    memory = new WeakReference<>(found);
    return found;
  }
}
