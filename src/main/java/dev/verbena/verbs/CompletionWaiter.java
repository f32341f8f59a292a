package dev.verbena.verbs;

import java.time.Duration;

/**
 * Waits for completions of one queue: polls for a while, which is quickest, then sleeps until the
 * queue announces one, which leaves the processor to others.
 *
 * <p>
 *
 * {@snippet :
 * CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ofNanos(50_000));
 * int n = waiter.poll(completions, Duration.ofSeconds(1));
 * }
 *
 * <p>No completion is missed, whenever it comes: after asking for an announcement the queue is
 * polled once more. The queue's channel must serve this queue alone. A waiter is used by one thread
 * at a time; it may be a virtual one.
 */
public final class CompletionWaiter {
  private static final long FOR_EVER = Long.MAX_VALUE;

  /** Polls between two looks at the clock, which costs more than a poll. */
  private static final int POLLS = 16;

  private final CompletionQueue queue;
  private final CompletionChannel channel;
  private final long spin;

  /** Whether an announcement was asked for that has not been taken from the channel. */
  private boolean armed;

  /**
   * Makes a waiter.
   *
   * @param queue a queue with a channel of its own
   * @param spin how long to poll before sleeping; zero to sleep at once
   * @throws IllegalArgumentException if the queue has no channel, or the time is negative
   */
  public CompletionWaiter(CompletionQueue queue, Duration spin) {
    if (spin.isNegative()) {
      throw new IllegalArgumentException("polling for " + spin);
    }
    this.queue = queue;
    this.channel =
        queue
            .channel()
            .orElseThrow(() -> new IllegalArgumentException(queue + " was made without a channel"));
    this.spin = saturated(spin);
  }

  /**
   * Waits until there are completions.
   *
   * @param completions where they are written
   * @return how many were taken, at least 1
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the queue or its channel is closed, be it during the wait
   */
  public int take(Completions completions) throws InterruptedException {
    return await(completions, FOR_EVER);
  }

  /**
   * Waits a while until there are completions.
   *
   * @param completions where they are written
   * @param timeout how long at most; a negative time is zero
   * @return how many were taken; 0 if none came in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the queue or its channel is closed, be it during the wait
   */
  public int poll(Completions completions, Duration timeout) throws InterruptedException {
    return await(completions, saturated(timeout));
  }

  private static long saturated(Duration duration) {
    if (duration.isNegative()) {
      return 0;
    }
    return duration.compareTo(Duration.ofNanos(FOR_EVER)) < 0 ? duration.toNanos() : FOR_EVER;
  }

  private int await(Completions completions, long timeout) throws InterruptedException {
    long start = System.nanoTime();
    int taken = spin(completions, start, Math.min(spin, timeout));
    while (taken == 0) {
      if (!armed) {
        queue.requestNotification();
        armed = true;
        taken = queue.poll(completions); // What came before the device heard of it.
      }
      long left = timeout == FOR_EVER ? FOR_EVER : timeout - (System.nanoTime() - start);
      if (taken > 0 || left <= 0) {
        return taken;
      }
      sleep(left);
      taken = queue.poll(completions);
    }
    return taken;
  }

  private int spin(Completions completions, long start, long time) throws InterruptedException {
    do {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      for (int i = 0; i < POLLS; i++) {
        int taken = queue.poll(completions);
        if (taken > 0) {
          return taken;
        }
        Thread.onSpinWait();
      }
    } while (System.nanoTime() - start < time);
    return 0;
  }

  /** Sleeps until the announcement: of a completion to come, or of one that was polled already. */
  private void sleep(long time) throws InterruptedException {
    CompletionQueue announced =
        time == FOR_EVER ? channel.take() : channel.poll(Duration.ofNanos(time));
    if (announced == null) {
      return;
    }
    if (announced != queue) {
      throw new IllegalStateException(
          channel + " serves " + announced + " too: a waiter needs one of its own");
    }
    armed = false;
  }
}
