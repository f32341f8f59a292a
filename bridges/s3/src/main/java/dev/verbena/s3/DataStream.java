package dev.verbena.s3;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** A stream of data outside the heap. */
final class DataStream extends InputStream {
  private final Data data;
  private long position;

  DataStream(Data data) {
    this.data = data;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, target.length);
    int count = (int) Math.min(length, data.length() - position);
    if (count == 0) {
      return length == 0 ? 0 : -1;
    }
    data.copy(position, MemorySegment.ofArray(target).asSlice(offset, count));
    position += count;
    return count;
  }

  @Override
  public long skip(long count) {
    long skipped = Math.clamp(count, 0, data.length() - position);
    position += skipped;
    return skipped;
  }

  @Override
  public int available() {
    return (int) Math.min(Integer.MAX_VALUE, data.length() - position);
  }

  @Override
  public void close() {
    data.close();
  }
}
