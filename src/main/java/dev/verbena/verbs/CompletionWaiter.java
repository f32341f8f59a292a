package dev.verbena.verbs;

import java.time.Duration;

/**
 * Waits for completions of one queue: first polls for some time, which has the lowest latency, then
 * waits for a completion event, which leaves the processor to other threads.
 *
 * {@snippet :
 * CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ofNanos(50_000));
 * int count = waiter.poll(completions, Duration.ofSeconds(1));
 * }
 *
 * <p>No completion is missed: after a notification is requested the queue is polled once more. The
 * completion channel must not be shared with other queues. A waiter is used by one thread at a
 * time, which may be a virtual thread.
 */
public final class CompletionWaiter {
  private static final long FOR_EVER = Long.MAX_VALUE;

  /** The number of polls between two readings of the clock, which takes longer than a poll. */
  private static final int POLLS = 16;

  private final CompletionQueue queue;
  private final CompletionChannel channel;
  private final long spin;

  /** Whether a notification was requested whose event was not yet read from the channel. */
  private boolean armed;

  /**
   * Creates a waiter.
   *
   * @param queue a queue with a completion channel that no other queue uses
   * @param spin the time to poll before waiting for an event; zero to wait at once
   * @throws IllegalArgumentException if the queue has no channel, or the time is negative
   */
  public CompletionWaiter(CompletionQueue queue, Duration spin) {
    if (spin.isNegative()) {
      throw new IllegalArgumentException("time to poll must not be negative: " + spin);
    }
    this.queue = queue;
    this.channel =
        queue
            .channel()
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        queue
                            + " has no completion channel: create it with"
                            + " completionQueue(entries).channel(channel)"));
    this.spin = saturated(spin);
  }

  /**
   * Waits until the queue returns completions.
   *
   * @param completions the object that receives the completions
   * @return the number of completions, at least 1
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the queue or its channel is closed, also during the wait
   */
  public int take(Completions completions) throws InterruptedException {
    return await(completions, FOR_EVER);
  }

  /**
   * Waits until the queue returns completions, with a timeout.
   *
   * @param completions the object that receives the completions
   * @param timeout the maximum time to wait; a negative time is the same as zero
   * @return the number of completions; 0 if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the queue or its channel is closed, also during the wait
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
    int count = spin(completions, start, Math.min(spin, timeout));
    while (count == 0) {
      if (!armed) {
        queue.requestNotification();
        armed = true;
        count = queue.poll(completions); // Completions that were added before the request.
      }
      long left = timeout == FOR_EVER ? FOR_EVER : timeout - (System.nanoTime() - start);
      if (count > 0 || left <= 0) {
        return count;
      }
      sleep(left);
      count = queue.poll(completions);
    }
    return count;
  }

  private int spin(Completions completions, long start, long time) throws InterruptedException {
    do {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      for (int i = 0; i < POLLS; i++) {
        int count = queue.poll(completions);
        if (count > 0) {
          return count;
        }
        Thread.onSpinWait();
      }
    } while (System.nanoTime() - start < time);
    return 0;
  }

  /** Waits for the event, either of a completion to come or of one that was already polled. */
  private void sleep(long time) throws InterruptedException {
    CompletionQueue ready = channel.poll(queue, time);
    if (ready == null) {
      return;
    }
    if (ready != queue) {
      throw new IllegalStateException(
          channel + " is also used by " + ready + ": a waiter requires a channel of its own");
    }
    armed = false;
  }
}
