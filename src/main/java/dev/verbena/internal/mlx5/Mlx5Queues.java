package dev.verbena.internal.mlx5;

import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.calls.CompletionQueueCalls;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.QueuePairCalls;
import dev.verbena.internal.calls.SharedReceiveQueueCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.mlx5.DoorbellRegister.Copied;
import dev.verbena.raw.ibv_qp;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The queues of one context. */
final class Mlx5Queues implements DirectQueues {
  private final Verbs verbs;
  private final Mlx5dv functions;
  private final boolean hasAtomics;
  private final Copied copied;
  private final AddressVectors vectors;

  /**
   * The queues of a context.
   *
   * @param copied the entries that are copied into registers of one queue pair
   */
  Mlx5Queues(Verbs verbs, Mlx5dv functions, boolean hasAtomics, Copied copied) {
    this.verbs = verbs;
    this.functions = functions;
    this.hasAtomics = hasAtomics;
    this.copied = copied;
    this.vectors = new AddressVectors(functions);
  }

  @Override
  public CompletionQueueCalls completionQueue(long cq) {
    QueueMemory.OfCompletionQueue memory = QueueMemory.completionQueue(functions, cq);
    // What can be refused was refused before: libmlx5 cannot take the queue back.
    if (memory.entrySize() != Mlx5CompletionQueue.ENTRY_SIZE || !isPowerOfTwo(memory.count())) {
      throw new IllegalStateException("a completion queue of unknown layout: " + memory);
    }
    return new Mlx5CompletionQueue(memory);
  }

  @Override
  public SharedReceiveQueueCalls sharedReceiveQueue(long srq, int maxSges) {
    QueueMemory.OfSharedReceiveQueue memory = QueueMemory.sharedReceiveQueue(functions, srq);
    requirePowerOfTwo(memory.stride(), "bytes of an entry of a shared receive queue");
    return new Mlx5SharedReceiveQueue(memory, maxSges);
  }

  @Override
  public QueuePairCalls queuePair(
      long qp,
      Shape shape,
      Supplier<CompletionQueueCalls> sends,
      Supplier<CompletionQueueCalls> receives,
      @Nullable Supplier<SharedReceiveQueueCalls> shared) {
    QueueMemory.OfQueuePair memory = QueueMemory.queuePair(functions, qp);
    require(
        memory.sendStride() == QueueMemory.BLOCK,
        "blocks of %d bytes in a send queue are not supported, only those of 64 bytes",
        memory.sendStride());
    requirePowerOfTwo(memory.sendBlocks(), "blocks of a send queue");
    Mlx5SendQueue sendQueue =
        new Mlx5SendQueue(
            Memory.getInt(qp + ibv_qp.qp_num$offset()),
            shape,
            hasAtomics,
            memory.sends(),
            memory.sendBlocks(),
            memory.record() + QueueMemory.SEND_RECORD,
            new DoorbellRegister(
                memory.register(),
                memory.registerSize(),
                shape.ownsRegister() ? copied : Copied.NONE,
                memory.sends(),
                memory.sendBlocks()),
            vectors);
    Mlx5QueuePair queuePair =
        new Mlx5QueuePair(
            verbs,
            qp,
            sendQueue,
            shared == null ? receiveQueue(memory) : null,
            shared == null ? null : (Mlx5SharedReceiveQueue) shared.get(),
            (Mlx5CompletionQueue) sends.get(),
            (Mlx5CompletionQueue) receives.get());
    queuePair.attach();
    return queuePair;
  }

  private static @Nullable Mlx5ReceiveQueue receiveQueue(QueueMemory.OfQueuePair memory) {
    if (memory.receiveEntries() == 0) {
      return null;
    }
    requirePowerOfTwo(memory.receiveEntries(), "entries of a receive queue");
    requirePowerOfTwo(memory.receiveStride(), "bytes of an entry of a receive queue");
    return new Mlx5ReceiveQueue(
        memory.receives(),
        memory.receiveEntries(),
        memory.receiveStride(),
        memory.record() + QueueMemory.RECEIVE_RECORD);
  }

  private static void requirePowerOfTwo(int number, String what) {
    require(isPowerOfTwo(number), "%d " + what + ": not a power of two", number);
  }

  private static boolean isPowerOfTwo(int number) {
    return Integer.bitCount(number) == 1;
  }

  private static void require(boolean condition, String format, int number) {
    if (!condition) {
      throw Mlx5DataPath.refusal(format.formatted(number));
    }
  }
}
