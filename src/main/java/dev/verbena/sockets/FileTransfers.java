package dev.verbena.sockets;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Objects;

/** Transfers between files and a channel, a buffer at a time. */
final class FileTransfers {
  /** Reads or writes a buffer by the channel. */
  interface Step {
    int run(ByteBuffer part) throws IOException;
  }

  private FileTransfers() {}

  static void requireRange(FileChannel file, long position, long count) {
    Objects.requireNonNull(file);
    if (position < 0 || count < 0) {
      throw new IllegalArgumentException(
          "the position and the count must not be negative: %d, %d".formatted(position, count));
    }
  }

  /** Writes bytes of a file to the channel; returns their number. */
  static long from(FileChannel source, long position, long count, ByteBuffer buffer, Step write)
      throws IOException {
    long total = 0;
    while (total < count) {
      ByteBuffer part = next(buffer, count - total);
      if (source.read(part, position + total) <= 0) {
        break; // The end of the file.
      }
      total += orEnd(total, write, part.flip());
      if (part.hasRemaining()) {
        break; // The channel is non-blocking, or the connection failed.
      }
    }
    return total;
  }

  /** Reads bytes of the channel into a file; returns their number. */
  static long to(FileChannel target, long position, long count, ByteBuffer buffer, Step read)
      throws IOException {
    int _ = target.write(ByteBuffer.allocate(0), position); // Writable, before bytes are read.
    long total = 0;
    while (total < count) {
      ByteBuffer part = next(buffer, count - total);
      if (orEnd(total, read, part) <= 0) {
        break; // The end of the stream, or of the connection, or the channel is non-blocking.
      }
      part.flip();
      while (part.hasRemaining()) {
        total += target.write(part, position + total);
      }
    }
    return total;
  }

  private static ByteBuffer next(ByteBuffer buffer, long left) {
    return buffer.clear().limit((int) Math.min(left, buffer.capacity()));
  }

  /** Returns 0 for a failure after some bytes were transferred: the next call throws it again. */
  private static int orEnd(long total, Step step, ByteBuffer part) throws IOException {
    try {
      return step.run(part);
    } catch (IOException e) {
      if (total == 0) {
        throw e;
      }
      return 0;
    }
  }
}
