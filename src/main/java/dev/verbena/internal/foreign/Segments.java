package dev.verbena.internal.foreign;

import java.lang.foreign.MemorySegment;

/**
 * Validates segments that are passed to C functions: native, alive, accessible by this thread,
 * large enough, and writable if the function writes. The C function receives an address, which the
 * JVM does not check.
 */
public final class Segments {
  private Segments() {}

  /**
   * Validates memory that a C function reads.
   *
   * @param segment the memory
   * @param size the number of bytes that are read
   * @return the address
   * @throws IllegalArgumentException if it is on the heap, or too small
   * @throws IllegalStateException if its arena is closed
   * @throws WrongThreadException if its arena is confined to another thread
   */
  public static long readable(MemorySegment segment, long size) {
    requireUsable(segment);
    if (segment.byteSize() < size) {
      throw new IllegalArgumentException(
          "the segment has " + segment.byteSize() + " bytes; at least " + size + " are needed");
    }
    return segment.address();
  }

  /**
   * Validates memory that a C function writes.
   *
   * @param segment the memory
   * @param size the number of bytes that are written
   * @return the address
   * @throws IllegalArgumentException if it is on the heap, too small, or read-only
   * @throws IllegalStateException if its arena is closed
   * @throws WrongThreadException if its arena is confined to another thread
   */
  public static long writable(MemorySegment segment, long size) {
    long address = readable(segment, size);
    if (segment.isReadOnly()) {
      throw new IllegalArgumentException("the segment is read-only; a writable one is required");
    }
    return address;
  }

  /**
   * Validates the pointer to a C object. Its size is not checked: a pointer returned by a C
   * function is a segment of length 0.
   *
   * @param segment the object
   * @param type the C type, for the message
   * @return the address
   * @throws IllegalArgumentException if it is on the heap, or NULL
   * @throws IllegalStateException if its arena is closed
   * @throws WrongThreadException if its arena is confined to another thread
   */
  public static long object(MemorySegment segment, String type) {
    requireUsable(segment);
    if (segment.address() == 0) {
      throw new IllegalArgumentException("NULL instead of the address of a struct " + type);
    }
    return segment.address();
  }

  /**
   * Checks a struct of C that a program passes. A program without native access cannot make a
   * segment of this length from an address.
   *
   * @param segment the struct
   * @param type the C type, for the message
   * @param size the size of the struct in bytes
   * @return its address
   * @throws IllegalArgumentException if it is on the heap, NULL, or shorter than the struct
   * @throws IllegalStateException if its arena is closed
   * @throws WrongThreadException if its arena is confined to another thread
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
