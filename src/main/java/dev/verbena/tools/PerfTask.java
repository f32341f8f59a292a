package dev.verbena.tools;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Locale;

/**
 * A measurement.
 *
 * @param operation the operation
 * @param size the number of bytes of each operation
 * @param warmUp the number of operations before the measurement
 * @param iterations the number of measured operations
 */
record PerfTask(Operation operation, int size, int warmUp, int iterations) {
  /** The size in bytes: four numbers. */
  static final int SIZE = 4 * Integer.BYTES;

  private static final int MAX_SIZE = 1 << 30;

  /** The operation of a request. */
  enum Operation {
    /** Send. */
    SEND('S'),
    /** RDMA write. */
    WRITE('W'),
    /** RDMA read. */
    READ('R'),
    /** Fetch and add. */
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
      throw new IllegalArgumentException("the client requests an unknown operation: " + code);
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

  /** Returns the timeout of the next completion: for bandwidth, of a batch. */
  Duration patience() {
    return Patience.forBytes(bytesOfBatch());
  }

  /** Returns the time within which the peer completes an operation. */
  Duration patience(Duration timeout) {
    return Patience.forBytes(timeout, bytesOfBatch());
  }

  private long bytesOfBatch() {
    return (long) PerfBandwidth.BATCH * size;
  }

  byte[] bytes() {
    return ByteBuffer.allocate(SIZE)
        .putInt(operation.code)
        .putInt(size)
        .putInt(warmUp)
        .putInt(iterations)
        .array();
  }

  /** Parses the result of {@link #bytes}; further bytes are ignored. */
  static PerfTask of(byte[] bytes) {
    if (bytes.length < SIZE) {
      throw new IllegalArgumentException("the client's private data contains no measurement");
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new PerfTask(
        Operation.of(buffer.getInt()), buffer.getInt(), buffer.getInt(), buffer.getInt());
  }
}
