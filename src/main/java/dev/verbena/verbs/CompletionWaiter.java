package dev.verbena.verbs;

import dev.verbena.internal.time.Time;
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
 * <p>No completion is missed: after a notification is requested the queue is polled once more. A
 * waiter reads the events of the channel, also those of other queues, for which other waiters wait;
 * so the channel must be read by waiters only. Any number of threads may use a waiter, also virtual
 * threads; each completion is returned to one of them.
 */
public final class CompletionWaiter {
  private static final long FOR_EVER = Long.MAX_VALUE;
  private static final Duration LONGEST = Duration.ofNanos(FOR_EVER);

  /** The number of polls between two readings of the clock, which takes longer than a poll. */
  private static final int POLLS = 16;

  /**
   * The time in nanoseconds after which a virtual thread that spins parks once. Virtual threads
   * that only yield may take turns on a carrier for ever, while others wait for one.
   */
  private static final long SLICE = 1_000_000;

  private final CompletionQueue queue;
  private final CompletionChannel channel;
  private final long spin;

  /**
   * The number of events of the queue when the last notification was requested: as long as it is
   * the same, the event was not yet read from the channel.
   */
  private volatile long armedAt = -1;

  /**
   * Creates a waiter.
   *
   * @param queue a queue with a completion channel
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

  /** Returns nanoseconds: at least 0, and {@link Long#MAX_VALUE} for what exceeds them. */
  static long saturated(Duration duration) {
    if (duration.isNegative()) {
      return 0;
    }
    return duration.compareTo(LONGEST) < 0 ? duration.toNanos() : FOR_EVER;
  }

  private int await(Completions completions, long timeout) throws InterruptedException {
    long start = Time.now();
    int count = spin(completions, start, Math.min(spin, timeout));
    while (count == 0) {
      long seen = queue.events();
      if (armedAt != seen) {
        queue.requestNotification();
        armedAt = seen;
      }
      count = queue.poll(completions); // Completions that were added before the request.
      long left = timeout == FOR_EVER ? FOR_EVER : timeout - (Time.now() - start);
      if (count > 0 || left <= 0) {
        return count;
      }
      channel.await(queue, seen, left);
      count = queue.poll(completions);
    }
    return count;
  }

  @SuppressWarnings("ThreadPriorityCheck") // A virtual thread yields to others, not by chance.
  private int spin(Completions completions, long start, long time) throws InterruptedException {
    boolean virtual = Thread.currentThread().isVirtual();
    long slice = 0;
    long now = start;
    do {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      for (int i = 0; i < POLLS; i++) {
        int count = queue.poll(completions);
        if (count > 0) {
          return count;
        }
        Time.pause();
      }
      now = Time.now();
      if (virtual && now - start < time) { // What it waits for may need this carrier.
        if ((now - start) / SLICE > slice) {
          slice = (now - start) / SLICE;
          Time.park(this, 1);
        } else {
          Time.yieldProcessor();
        }
      }
    } while (now - start < time);
    return 0;
  }

  @Override
  public String toString() {
    return "waiter for completions of " + queue;
  }
}
