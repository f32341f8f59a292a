package dev.verbena.s3;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Data in registered memory: what a server wrote, or what a repeated attempt sends by HTTP.
 *
 * @param owner the call, which is referred to as long as the data is: when it is not, the memory is
 *     used again
 * @param length the number of bytes
 * @param isLast whether the memory is used again when the data was read
 */
record Content(Transfer owner, Lease lease, long length, boolean isLast) implements Data {
  @Override
  public void copy(long offset, MemorySegment target) throws IOException {
    if (!lease.copy(offset, target)) {
      throw new IOException("the content is closed");
    }
  }

  /**
   * Returns the memory itself, which can be accessed until an arena is closed; null if closed. It
   * refers to this, and the arena closes this.
   */
  MemorySegment segment(Arena arena) {
    return lease.segment(length, arena, this::close);
  }

  @Override
  public void close() {
    if (isLast) {
      lease.end();
    }
  }
}
