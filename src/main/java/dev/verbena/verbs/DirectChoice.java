package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.DirectPath;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.NativeQueuePairCalls;
import dev.verbena.internal.calls.QueuePairCalls;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The choice of the data path of a new queue pair. It is that of its queues: all of them are
 * direct, or none. With {@code -Ddev.verbena.direct=auto} the first queue pair of a completion
 * queue decides for the queue.
 *
 * @param sends the completion queue of send requests; null if there is none
 * @param receives the completion queue of receive requests; null if there is none
 * @param shared the shared receive queue; null if there is none
 * @param obstacle why the queue pair itself cannot be direct, if it cannot
 */
record DirectChoice(
    Context context,
    @Nullable CompletionQueue sends,
    @Nullable CompletionQueue receives,
    @Nullable SharedReceiveQueue shared,
    Optional<String> obstacle) {

  /**
   * Returns the data path of the queue pair.
   *
   * @param qp the {@code ibv_qp}
   * @throws IllegalStateException if some of its queues are direct, and others or the queue pair
   *     itself are not
   */
  QueuePairCalls calls(long qp, DirectQueues.Shape shape) {
    // One lock for the context, so that two queue pairs do not decide differently.
    synchronized (context.directPath()) {
      Optional<String> reason = obstacle.or(this::obstacleOfQueues);
      if (reason.isEmpty() && (isDirect() || DirectPath.isAutomatic())) {
        try {
          return direct(qp, shape);
        } catch (VerbsException e) {
          if (isDirect() || !e.isUnsupported()) {
            throw e;
          }
        }
      }
      if (isDirect()) {
        throw new IllegalStateException(
            "the queue pair must be direct, as its queues are, but " + reason.orElseThrow());
      }
      settle(sends);
      settle(receives);
      if (shared != null) {
        shared.settleForProvider();
      }
      return new NativeQueuePairCalls(qp, context.criticalCalls());
    }
  }

  private boolean isDirect() {
    return isDirect(sends) || isDirect(receives) || (shared != null && shared.isDirect());
  }

  private static boolean isDirect(@Nullable CompletionQueue queue) {
    return queue != null && queue.isDirect();
  }

  private static void settle(@Nullable CompletionQueue queue) {
    if (queue != null) {
      queue.settleForProvider();
    }
  }

  private Optional<String> obstacleOfQueues() {
    if (sends == null || receives == null) {
      return Optional.of("it has no completion queue of its own");
    }
    if (!sends.canBeDirect()) {
      return Optional.of("the completion queue of its send requests is not");
    }
    if (!receives.canBeDirect()) {
      return Optional.of("the completion queue of its receive requests is not");
    }
    return shared == null || shared.canBeDirect()
        ? Optional.empty()
        : Optional.of("its shared receive queue is not: create it with direct()");
  }

  private QueuePairCalls direct(long qp, DirectQueues.Shape shape) {
    return context
        .directPath()
        .queuePair(
            qp,
            shape,
            sends::directCalls,
            receives::directCalls,
            shared == null ? null : shared::directCalls);
  }
}
