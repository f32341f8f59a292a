package dev.verbena.soft.device;

import dev.verbena.internal.foreign.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The data of a message that is not in its receive buffer yet, where {@link Delays#PATTERN} stands
 * instead: they are written when the completion is in its queue.
 */
public final class LateData {
  private record Part(SoftDomain domain, long offset, byte[] bytes) {
    boolean write(ScatterList elements, byte[] content) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment buffer = arena.allocateFrom(ValueLayout.JAVA_BYTE, content);
        return elements.scatter(domain, offset, buffer.address(), content.length);
      }
    }
  }

  private final ScatterList elements;
  private final List<Part> parts = new ArrayList<>();

  /** Creates it without data, for the elements of a receive request, which it copies. */
  public LateData(ScatterList elements) {
    this.elements = new ScatterList(elements.capacity());
    this.elements.copyOf(elements);
  }

  /**
   * Adds a part of the message.
   *
   * @return false if the memory cannot be written
   */
  public boolean add(SoftDomain domain, long offset, long buffer, int length) {
    byte[] bytes = Memory.at(buffer, length).toArray(ValueLayout.JAVA_BYTE);
    byte[] pattern = new byte[length];
    Arrays.fill(pattern, Delays.PATTERN);
    Part part = new Part(domain, offset, bytes);
    parts.add(part);
    return part.write(elements, pattern);
  }

  /** Writes the data, where the memory still exists. */
  void write() {
    for (Part part : parts) {
      boolean _ = part.write(elements, part.bytes);
    }
  }
}
