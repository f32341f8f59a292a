package com.ibm.disni.util;

import dev.verbena.disni.Replacement;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * Stands before DiSNI's class of the same name, which needs {@code --add-exports
 * java.base/sun.nio.ch=ALL-UNNAMED}.
 */
@Replacement
public class MemoryUtils {
  /** DiSNI's class can be instantiated. */
  public MemoryUtils() {}

  /**
   * Returns the address of a direct buffer: of its index 0, whatever its position is.
   *
   * @param buffer a direct buffer
   * @return the address
   * @throws IllegalArgumentException if the buffer is not direct
   */
  public static long getAddress(ByteBuffer buffer) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "a buffer on the heap has no address for RDMA: allocate it by ByteBuffer.allocateDirect");
    }
    return MemorySegment.ofBuffer(buffer).address() - buffer.position();
  }
}
