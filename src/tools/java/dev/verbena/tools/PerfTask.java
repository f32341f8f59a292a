package dev.verbena.tools;

import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Patience;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * A measurement.
 *
 * @param operation the operation
 * @param size the number of bytes of each operation; in a sweep, of the largest
 * @param warmUp the number of operations before the measurement of each size
 * @param iterations the number of measured operations of each size
 * @param plan what else the measurement varies
 */
record PerfTask(Operation operation, int size, int warmUp, int iterations, PerfPlan plan) {
  /** The size in bytes: four numbers and the plan. */
  static final int SIZE = 4 * Integer.BYTES + PerfPlan.SIZE;

  static final int MAX_SIZE = 1 << 30;

  /** The operation of a request. */
  enum Operation {
    /** Send. */
    SEND,
    /** RDMA write. */
    WRITE,
    /** RDMA read. */
    READ,
    /** Fetch and add. */
    ATOMIC;

    /** Returns what stands for the operation in a task that is sent. */
    private int code() {
      return name().charAt(0);
    }

    private static Operation of(int code) {
      for (Operation operation : values()) {
        if (operation.code() == code) {
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

  /** Creates a measurement of one size, with one queue pair, in one direction, by polling. */
  PerfTask(Operation operation, int size, int warmUp, int iterations) {
    this(operation, size, warmUp, iterations, PerfPlan.single(size));
  }

  PerfTask {
    if (size < 1 || plan.smallest() > size || size > MAX_SIZE || warmUp < 0 || iterations < 1) {
      throw new IllegalArgumentException(
          iterations + " times " + size + " bytes after " + warmUp + ": nothing to measure");
    }
    if (plan.polled() && (operation != Operation.WRITE || plan.stream())) {
      throw new IllegalArgumentException("polled memory is for the latency of write");
    }
  }

  /** Returns whether the server answers each operation of the client. */
  boolean isAnswered() {
    return operation == Operation.SEND || plan.polled();
  }

  /** Returns this measurement with other numbers of operations. */
  PerfTask with(int otherWarmUp, int otherIterations) {
    return new PerfTask(operation, size, otherWarmUp, otherIterations, plan);
  }

  /** Returns the sizes to measure, the smallest first. */
  List<Integer> sizes() {
    return PerfPlan.sizes(plan.smallest(), plan.factor(), size);
  }

  /** Returns the number of operations of one size on one queue pair. */
  int total() {
    return Math.addExact(warmUp, iterations);
  }

  /** Returns the timeout of a completion for which the peer does nothing. */
  Duration patience() {
    return Patience.forBytes(bytesOfBatch());
  }

  /** Returns the time within which the peer completes an operation. */
  Duration patience(Duration timeout) {
    return Patience.forBytes(timeout, bytesOfBatch());
  }

  private long bytesOfBatch() {
    return (long) Link.BATCH * size;
  }

  byte[] bytes() {
    ByteBuffer buffer =
        ByteBuffer.allocate(SIZE)
            .putInt(operation.code())
            .putInt(size)
            .putInt(warmUp)
            .putInt(iterations);
    plan.put(buffer);
    return buffer.array();
  }

  /** Parses the result of {@link #bytes}; further bytes are ignored. */
  static PerfTask of(byte[] bytes) {
    if (bytes.length < SIZE) {
      throw new IllegalArgumentException("the client's private data contains no measurement");
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new PerfTask(
        Operation.of(buffer.getInt()),
        buffer.getInt(),
        buffer.getInt(),
        buffer.getInt(),
        PerfPlan.get(buffer));
  }
}
