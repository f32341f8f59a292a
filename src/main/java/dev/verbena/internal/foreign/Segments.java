package dev.verbena.internal.foreign;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;

/**
 * Validates segments that are passed to C functions: native, alive, accessible by this thread,
 * large enough, and writable if the function writes. The C function receives an address, which the
 * JVM does not check.
 *
 * <p>Each method returns the address. It throws {@link IllegalArgumentException} if the segment
 * does not suit, {@link IllegalStateException} if its arena is closed, and {@link
 * WrongThreadException} if it is confined to another thread.
 */
public final class Segments {
  private Segments() {}

  /** Validates memory of which a C function reads so many bytes. */
  public static long readable(MemorySegment segment, long size) {
    requireUsable(segment);
    if (segment.byteSize() < size) {
      throw new IllegalArgumentException(
          "the segment has " + segment.byteSize() + " bytes; at least " + size + " are needed");
    }
    return segment.address();
  }

  /** Validates memory of which a C function writes so many bytes. */
  public static long writable(MemorySegment segment, long size) {
    long address = readable(segment, size);
    if (segment.isReadOnly()) {
      throw new IllegalArgumentException("the segment is read-only; a writable one is required");
    }
    return address;
  }

  /** Validates a struct of C that is read through its layout. */
  public static void readable(MemorySegment segment, MemoryLayout struct) {
    long address = readable(segment, struct.byteSize());
    if (address % struct.byteAlignment() != 0) {
      throw new IllegalArgumentException(
          "the segment starts at 0x%x; a struct %s is aligned to %d bytes"
              .formatted(address, struct.name().orElseThrow(), struct.byteAlignment()));
    }
  }

  /** Validates a struct of C that is written through its layout. */
  public static void writable(MemorySegment segment, MemoryLayout struct) {
    readable(segment, struct);
    writable(segment, struct.byteSize());
  }

  /**
   * Validates the pointer to a C object, which must not be NULL. Its size is not checked: a pointer
   * that a C function returned is a segment of length 0.
   */
  public static long object(MemorySegment segment, String type) {
    requireUsable(segment);
    if (segment.address() == 0) {
      throw new IllegalArgumentException("NULL instead of the address of a struct " + type);
    }
    return segment.address();
  }

  /**
   * Validates a struct of C that a program passes. A program without native access cannot make a
   * segment of this length from an address.
   */
  public static long struct(MemorySegment segment, String type, long size) {
    long address = object(segment, type);
    if (segment.byteSize() < size) {
      throw new IllegalArgumentException(
          "a struct %s has %d bytes, the segment has %d: with native access, reinterpret() makes it longer"
              .formatted(type, size, segment.byteSize()));
    }
    return address;
  }

  private static void requireUsable(MemorySegment segment) {
    if (!segment.isNative()) {
      throw new IllegalArgumentException(
          "heap segment: native memory is required, such as that of an arena");
    }
    if (!segment.scope().isAlive()) {
      throw new IllegalStateException("the segment's arena is closed");
    }
    if (!segment.isAccessibleBy(Thread.currentThread())) {
      throw new WrongThreadException("the segment's arena is confined to another thread");
    }
  }
}
