package dev.verbena.tools;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Locale;

/**
 * What is measured.
 *
 * @param operation what each request does
 * @param size its bytes
 * @param warmUp how many before it counts
 * @param iterations how many count
 */
record PerfTask(Operation operation, int size, int warmUp, int iterations) {
  /** As bytes, four numbers. */
  static final int SIZE = 4 * Integer.BYTES;

  private static final int MAX_SIZE = 1 << 30;

  /** What a request does. */
  enum Operation {
    /** A message. */
    SEND('S'),
    /** Into the peer's memory. */
    WRITE('W'),
    /** From the peer's memory. */
    READ('R'),
    /** To a number of the peer's memory, which is returned. */
    ATOMIC('A');

    private final int code;

    Operation(int code) {
      this.code = code;
    }

    private static Operation of(int code) {
      for (Operation operation : values()) {
        if (operation.code == code) {
          return operation;
        }
      }
      throw new IllegalArgumentException("the client asks for an unknown operation: " + code);
    }

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  PerfTask {
    if (size < 1 || size > MAX_SIZE || warmUp < 0 || iterations < 1) {
      throw new IllegalArgumentException(
          iterations + " times " + size + " bytes after " + warmUp + ": nothing to measure");
    }
  }

  int total() {
    return Math.addExact(warmUp, iterations);
  }

  /** How long the next completion may take to come: for bandwidth, that of a batch. */
  Duration patience() {
    return Patience.forBytes((long) PerfBandwidth.BATCH * size);
  }

  byte[] bytes() {
    return ByteBuffer.allocate(SIZE)
        .putInt(operation.code)
        .putInt(size)
        .putInt(warmUp)
        .putInt(iterations)
        .array();
  }

  /** Reads what {@link #bytes} wrote; something may stand behind it. */
  static PerfTask of(byte[] bytes) {
    if (bytes.length < SIZE) {
      throw new IllegalArgumentException("the client does not say what to measure");
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new PerfTask(
        Operation.of(buffer.getInt()), buffer.getInt(), buffer.getInt(), buffer.getInt());
  }
}
