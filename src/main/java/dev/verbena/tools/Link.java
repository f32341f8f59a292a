package dev.verbena.tools;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAddress;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.BooleanSupplier;

/** One end of a reliable connection, with a buffer that the other end may read and write. */
final class Link implements AutoCloseable {
  /** How many requests fit in a queue. */
  static final int DEPTH = 128;

  private static final long PATIENCE_NANOS = 10_000_000_000L;

  private final Arena arena = Arena.ofShared();
  private final Context context;
  private final MemoryRegion region;
  private final CompletionQueue queue;
  private final QueuePair queuePair;
  private final Completions completions = new Completions(16);

  Link(Device device, long bufferSize) {
    context = device.open();
    ProtectionDomain domain = context.allocateProtectionDomain();
    region =
        domain.registerMemory(
            arena.allocate(bufferSize, 4096),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC);
    queue = context.createCompletionQueue(2 * DEPTH);
    queuePair =
        domain
            .queuePair(QueuePairType.RC)
            .completions(queue)
            .capacity(new QueuePairCapacity(DEPTH, DEPTH, 1, 1, 0))
            .create();
  }

  QueuePair queuePair() {
    return queuePair;
  }

  QueuePairAddress address() {
    return queuePair.localAddress();
  }

  MemoryRegion region() {
    return region;
  }

  MemorySegment buffer() {
    return region.memory();
  }

  void post(SendList list) {
    require(queuePair.post(list), list.size());
  }

  void post(ReceiveList list) {
    require(queuePair.post(list), list.size());
  }

  private static void require(int taken, int wanted) {
    if (taken < wanted) {
      throw new IllegalStateException("the queue took " + taken + " of " + wanted + " requests");
    }
  }

  /** Polls until there are completions, all good, and returns how many. */
  int await() {
    return awaitUpTo(completions.capacity());
  }

  /** Polls until a number of completions came, and takes no more. */
  void await(int number) {
    for (int done = 0; done < number; ) {
      done += awaitUpTo(Math.min(number - done, completions.capacity()));
    }
  }

  private int awaitUpTo(int limit) {
    await(() -> queue.poll(completions, limit) > 0);
    for (int i = 0; i < completions.count(); i++) {
      if (!completions.isSuccess(i)) {
        throw new IllegalStateException(completions.describe(i));
      }
    }
    return completions.count();
  }

  private static void await(BooleanSupplier condition) {
    long start = System.nanoTime();
    for (int spins = 1; !condition.getAsBoolean(); spins++) {
      if (spins % 1024 == 0 && System.nanoTime() - start > PATIENCE_NANOS) {
        throw new IllegalStateException("no completion came within 10 s");
      }
      Thread.onSpinWait();
    }
  }

  @Override
  public void close() {
    context.close();
    arena.close();
  }
}
