package dev.verbena.tools;

import java.io.IOException;
import java.nio.ByteBuffer;
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
  private static final int BYTES = 4 * Integer.BYTES;
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

    private static Operation of(int code) throws IOException {
      for (Operation operation : values()) {
        if (operation.code == code) {
          return operation;
        }
      }
      throw new IOException("the client asks for an unknown operation: " + code);
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

  void sendTo(Peer peer) throws IOException {
    peer.send(
        ByteBuffer.allocate(BYTES)
            .putInt(operation.code)
            .putInt(size)
            .putInt(warmUp)
            .putInt(iterations)
            .array());
  }

  static PerfTask receiveFrom(Peer peer) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(peer.receive(BYTES));
    return new PerfTask(
        Operation.of(bytes.getInt()), bytes.getInt(), bytes.getInt(), bytes.getInt());
  }
}
