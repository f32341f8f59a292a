package dev.verbena.s3;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.stream.LongStream;
import org.reactivestreams.Publisher;
import software.amazon.awssdk.core.async.SdkPublisher;

/**
 * Data in registered memory: what a server wrote, or what a repeated attempt sends by HTTP.
 *
 * @param owner the call, which is referred to as long as the data is: when it is not, the memory is
 *     used again
 * @param length the number of bytes
 * @param isLast whether the memory is used again when the data was read
 */
record Content(Transfer owner, Lease lease, long length, boolean isLast) {
  private static final int CHUNK = 128 << 10;

  private void copy(long offset, MemorySegment target) throws IOException {
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

  /** Returns a stream of it, which closes it. */
  InputStream stream() {
    return new DataStream(length) {
      @Override
      void copy(long offset, MemorySegment target) throws IOException {
        Content.this.copy(offset, target);
      }

      @Override
      public void close() {
        Content.this.close();
      }
    };
  }

  /**
   * Returns what publishes copies: a subscriber may keep what it gets, but the memory is used
   * again.
   */
  Publisher<ByteBuffer> publisher() {
    return SdkPublisher.fromIterable(
            () ->
                LongStream.iterate(0, at -> at < length, at -> at + CHUNK)
                    .mapToObj(this::chunk)
                    .iterator())
        .doAfterOnCancel(this::close);
  }

  private ByteBuffer chunk(long offset) {
    byte[] bytes = new byte[(int) Math.min(CHUNK, length - offset)];
    try {
      copy(offset, MemorySegment.ofArray(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (offset + bytes.length == length) {
      close();
    }
    return ByteBuffer.wrap(bytes);
  }

  /** It was read, or will not be. */
  void close() {
    if (isLast) {
      lease.end();
    }
  }
}
