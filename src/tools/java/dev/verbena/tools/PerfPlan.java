package dev.verbena.tools;

import dev.verbena.tools.command.Link;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What a measurement is, and what it varies beside its operation: sizes, queue pairs, directions,
 * and how completions are awaited.
 *
 * @param smallest the smallest size of a sweep; the size of the task if there is only one
 * @param factor the factor from one size to the next
 * @param queuePairs the number of queue pairs, each of which carries all iterations
 * @param bidirectional whether the server transfers at the same time
 * @param stream whether many operations are outstanding, for bandwidth; otherwise one, for latency
 * @param events whether completions are awaited by completion events; otherwise by polling
 * @param polled whether each end writes, and polls its memory for what the other one has written
 * @param depth the number of outstanding operations of a queue pair, for bandwidth
 */
record PerfPlan(
    int smallest,
    int factor,
    int queuePairs,
    boolean bidirectional,
    boolean stream,
    boolean events,
    boolean polled,
    int depth) {
  /** The size in bytes. */
  static final int SIZE = 2 * Integer.BYTES;

  /** The largest number of queue pairs. */
  static final int MAX_QUEUE_PAIRS = 64;

  private static final int BIDIRECTIONAL = 1;
  private static final int EVENTS = 2;
  private static final int STREAM = 4;
  private static final int POLLED = 8;

  PerfPlan {
    boolean isWhole = depth <= Link.BATCH || depth % Link.BATCH == 0;
    if (depth < 1 || depth > Link.DEPTH || !isWhole) {
      throw new IllegalArgumentException(
          "the number of outstanding operations must be 1 to %d, or a multiple of %d up to %d: %d"
              .formatted(Link.BATCH, Link.BATCH, Link.DEPTH, depth));
    }
    if (smallest < 1 || factor < 2 || factor > Byte.MAX_VALUE) {
      throw new IllegalArgumentException(
          "sizes from %d by factors of %d: the smallest size must be positive, the factor 2 to %d"
              .formatted(smallest, factor, Byte.MAX_VALUE));
    }
    if (queuePairs < 1 || queuePairs > MAX_QUEUE_PAIRS) {
      throw new IllegalArgumentException(
          "the number of queue pairs must be 1 to %d: %d".formatted(MAX_QUEUE_PAIRS, queuePairs));
    }
  }

  /** Returns a plan of one size, one queue pair and one direction, by polling. */
  static PerfPlan single(int size) {
    return new PerfPlan(Math.max(size, 1), 2, 1, false, false, false, false, Link.DEPTH);
  }

  int directions() {
    return bidirectional ? 2 : 1;
  }

  /** Returns the number of requests of one post. */
  int batch() {
    return Math.min(depth, Link.BATCH);
  }

  /** Returns sizes, each of which is the one before times a factor. */
  static List<Integer> sizes(int smallest, int factor, int largest) {
    List<Integer> sizes = new ArrayList<>();
    for (long size = smallest; size <= largest; size *= factor) {
      sizes.add((int) size);
    }
    return sizes;
  }

  void put(ByteBuffer buffer) {
    buffer
        .putInt(smallest)
        .put((byte) factor)
        .put((byte) queuePairs)
        .put(
            (byte)
                ((bidirectional ? BIDIRECTIONAL : 0)
                    | (stream ? STREAM : 0)
                    | (events ? EVENTS : 0)
                    | (polled ? POLLED : 0)))
        .put((byte) depth);
  }

  static PerfPlan get(ByteBuffer buffer) {
    int smallest = buffer.getInt();
    int factor = buffer.get();
    int queuePairs = buffer.get();
    int flags = buffer.get();
    int depth = Byte.toUnsignedInt(buffer.get());
    return new PerfPlan(
        smallest,
        factor,
        queuePairs,
        (flags & BIDIRECTIONAL) != 0,
        (flags & STREAM) != 0,
        (flags & EVENTS) != 0,
        (flags & POLLED) != 0,
        depth);
  }
}
