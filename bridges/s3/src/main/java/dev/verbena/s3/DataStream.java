package dev.verbena.s3;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** A stream of data outside the heap. */
abstract class DataStream extends InputStream {
  private final long length;
  private long position;

  DataStream(long length) {
    this.length = length;
  }

  /**
   * Copies a part of the data.
   *
   * @throws IOException if it is closed
   */
  abstract void copy(long offset, MemorySegment target) throws IOException;

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] target, int offset, int size) throws IOException {
    Objects.checkFromIndexSize(offset, size, target.length);
    int count = (int) Math.min(size, length - position);
    if (count == 0) {
      return size == 0 ? 0 : -1;
    }
    copy(position, MemorySegment.ofArray(target).asSlice(offset, count));
    position += count;
    return count;
  }

  @Override
  public long skip(long count) {
    long skipped = Math.clamp(count, 0, length - position);
    position += skipped;
    return skipped;
  }

  @Override
  public int available() {
    return (int) Math.min(Integer.MAX_VALUE, length - position);
  }
}
