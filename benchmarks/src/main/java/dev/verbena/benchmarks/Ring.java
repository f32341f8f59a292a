package dev.verbena.benchmarks;

import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.Arena;

/**
 * The queues of one thread on the device of ring.c, and the loops in Java, which correspond to
 * those in C.
 */
final class Ring implements AutoCloseable {
  static final int BUFFER_SIZE = 64;
  static final int BUFFERS = 64;

  private final Arena arena = Arena.ofShared();
  private final Context context = Device.list().getFirst().open();

  /** A separate context: its extended objects disable the critical calls of the context. */
  private final Context extendedContext = Device.list().getFirst().open();

  final MemoryRegion region;
  final CompletionQueue completions;
  final CompletionQueue endless;
  final QueuePair pair;
  final MemoryRegion extendedRegion;
  final CompletionQueue extendedCompletions;
  final ExtendedCompletionQueue extended;
  final QueuePair extendedPair;

  Ring() {
    ProtectionDomain domain = context.allocateProtectionDomain();
    region = region(domain);
    completions = context.createCompletionQueue(256);
    endless = context.completionQueue(256).vector(1).create();
    pair =
        domain
            .queuePair(QueuePairType.RC)
            .completions(completions)
            .capacity(
                QueuePairCapacity.of(128).withSendSges(4).withReceiveSges(4).withMaxInlineData(256))
            .create();
    ProtectionDomain extendedDomain = extendedContext.allocateProtectionDomain();
    extendedRegion = region(extendedDomain);
    extendedCompletions = extendedContext.createCompletionQueue(256);
    extended =
        extendedContext.completionQueue(256).vector(1).createExtended(CompletionField.BYTE_LEN);
    extendedPair =
        extendedDomain
            .queuePair(QueuePairType.RC)
            .completions(extendedCompletions)
            .capacity(
                QueuePairCapacity.of(128).withSendSges(4).withReceiveSges(4).withMaxInlineData(256))
            .sendOperations(SendOperation.SEND)
            .create();
  }

  private MemoryRegion region(ProtectionDomain domain) {
    return domain.registerMemory(
        arena.allocate((long) (BUFFERS + 1) * BUFFER_SIZE, 64), AccessFlag.LOCAL_WRITE);
  }

  /** Polls a number of completions, and reads status, id and length of each. */
  static long pollAll(CompletionQueue queue, Completions completions, int batch) {
    long sum = 0;
    for (int done = 0; done < batch; ) {
      int n = queue.poll(completions, batch - done);
      for (int i = 0; i < n; i++) {
        if (!completions.isSuccess(i)) {
          throw new IllegalStateException(completions.describe(i));
        }
        sum += completions.id(i) + completions.byteLength(i);
      }
      done += n;
    }
    return sum;
  }

  @Override
  public void close() {
    context.close();
    extendedContext.close();
    arena.close();
  }
}
