package dev.verbena.internal.calls;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Posts to and polls the queues of one context in Java. Each method throws a {@link
 * dev.verbena.VerbsException} EOPNOTSUPP with the reason if it cannot be done with this queue.
 */
public interface DirectQueues {
  /**
   * What the creation of a queue pair returned.
   *
   * @param type the value of {@code enum ibv_qp_type}
   * @param signalsAll whether all send requests are signaled
   * @param maxSends the maximum number of send requests
   * @param maxSges the maximum number of SGEs of a send request
   * @param maxInlineData the maximum size of inline data in bytes
   * @param ownsRegister whether nothing else writes to its doorbell register
   */
  record Shape(
      int type,
      boolean signalsAll,
      int maxSends,
      int maxSges,
      int maxInlineData,
      boolean ownsRegister) {}

  /**
   * Returns the data path of a completion queue, which libibverbs must not poll any more: even if
   * this fails, so that it does not throw EOPNOTSUPP.
   *
   * @param cq the {@code ibv_cq}
   */
  CompletionQueueCalls completionQueue(long cq);

  /**
   * Returns the data path of a shared receive queue that was just created.
   *
   * @param srq the {@code ibv_srq}
   * @param maxSges the maximum number of SGEs of a request
   */
  SharedReceiveQueueCalls sharedReceiveQueue(long srq, int maxSges);

  /**
   * Returns the data path of a queue pair that was just created. Its queues are asked for when
   * nothing is left that can be refused.
   *
   * @param qp the {@code ibv_qp}
   * @param sends its completion queue, of this data path
   * @param receives its completion queue of receive requests, of this data path
   * @param shared its shared receive queue, of this data path; null if it has none
   */
  QueuePairCalls queuePair(
      long qp,
      Shape shape,
      Supplier<CompletionQueueCalls> sends,
      Supplier<CompletionQueueCalls> receives,
      @Nullable Supplier<SharedReceiveQueueCalls> shared);
}
