package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.DirectPath;
import dev.verbena.internal.ThreadDomains;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.NativeQueuePairCalls;
import dev.verbena.internal.calls.QueuePairCalls;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The choice of the data path of a new queue pair. It is that of its queues: all of them are
 * direct, or none. With {@code -Ddev.verbena.direct=auto} the first queue pair of a completion
 * queue decides for the queue.
 *
 * <p>It belongs to one creation of a queue pair, and is closed after the queue pair.
 */
final class DirectChoice implements AutoCloseable {
  private static final String MUST_BE_DIRECT =
      "the queue pair must be direct, as its queues are, but ";

  private final Context context;
  private final @Nullable CompletionQueue sends;
  private final @Nullable CompletionQueue receives;
  private final @Nullable SharedReceiveQueue shared;
  private Optional<String> obstacle;
  private ThreadDomains.@Nullable Place place;

  /**
   * A choice that is not made yet.
   *
   * @param sends the completion queue of send requests; null if there is none
   * @param receives the completion queue of receive requests; null if there is none
   * @param shared the shared receive queue; null if there is none
   * @param obstacle why the queue pair itself cannot be direct, if it cannot
   */
  DirectChoice(
      Context context,
      @Nullable CompletionQueue sends,
      @Nullable CompletionQueue receives,
      @Nullable SharedReceiveQueue shared,
      Optional<String> obstacle) {
    this.context = context;
    this.sends = sends;
    this.receives = receives;
    this.shared = shared;
    this.obstacle = obstacle;
  }

  /**
   * The queue pair was created for the direct data path, which it cannot have after all. It must be
   * created again, as the provider would omit locks in its thread domain.
   */
  static final class TakenBackException extends RuntimeException {
    private static final long serialVersionUID = 1;

    TakenBackException(String reason) {
      super(reason);
    }
  }

  /**
   * Returns the {@code ibv_pd} to create the queue pair on: a parent domain with a thread domain if
   * the queue pair will be direct, unless the program has chosen a thread domain.
   *
   * @param domain the protection domain of the queue pair, which cannot be closed meanwhile
   */
  MemorySegment domain(ProtectionDomain domain) {
    if (!becomesDirect() || domain.hasThreadDomain()) {
      return domain.segment();
    }
    try {
      place = context.directPath().threadDomains().place(domain::inThreadDomain);
      return MemorySegment.ofAddress(place.domain());
    } catch (VerbsException e) {
      String none = "there is no doorbell register for it, by a thread domain: " + e.getMessage();
      if (isDirect()) {
        throw new IllegalStateException(MUST_BE_DIRECT + none, e);
      }
      obstacle = Optional.of(none);
      return domain.segment();
    }
  }

  private boolean becomesDirect() {
    synchronized (context.directPath()) {
      if (obstacle.or(this::obstacleOfQueues).isPresent()
          || !(isDirect() || DirectPath.isAutomatic())) {
        return false;
      }
      obstacle = context.directPath().obstacle();
      return obstacle.isEmpty();
    }
  }

  /** Returns whether nothing but the queue pair writes to its doorbell register. */
  boolean ownsRegister() {
    return place != null && place.ownsRegister();
  }

  /** Deallocates the parent domain of the queue pair, if it has one. */
  @Override
  public void close() {
    if (place != null) {
      place.close();
    }
  }

  /**
   * Returns the data path of the queue pair.
   *
   * @param qp the {@code ibv_qp}
   * @throws IllegalStateException if some of its queues are direct, and others or the queue pair
   *     itself are not
   * @throws TakenBackException if it must be created again, with the message as the obstacle
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
          reason = Optional.of(e.getMessage());
        }
      }
      if (isDirect()) {
        throw new IllegalStateException(MUST_BE_DIRECT + reason.orElseThrow());
      }
      if (place != null) {
        throw new TakenBackException(reason.orElseThrow());
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
