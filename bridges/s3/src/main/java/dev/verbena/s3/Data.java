package dev.verbena.s3;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** Data outside the heap that is read by copies. */
interface Data {
  /** {@return the number of bytes} */
  long length();

  /**
   * Copies a part of it.
   *
   * @throws IOException if it is closed
   */
  void copy(long offset, MemorySegment target) throws IOException;

  /** It was read, or will not be. */
  void close();
}
