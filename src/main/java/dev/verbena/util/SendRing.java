package dev.verbena.util;

import dev.verbena.VerbsException;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A ring of send requests that are formatted and posted again after they have completed.
 *
 * {@snippet :
 * SendRing ring = new SendRing(queuePair, sends, 0);
 * for (int i = ring.next(); i >= 0; i = ring.next()) { // The thread that posts.
 *   sends.write(i).local(region, i * 64L, 64).remote(address, rkey).signaled();
 * }
 * int posted = ring.post();
 *
 * int polled = queue.poll(completions); // This thread, or another one.
 * ring.completed(completions);
 * }
 *
 * <p>The ring sets the {@code wr_id} of each request when it is posted. Requests may be unsignaled:
 * the completion of a later request completes them, too. So at least one request in each length of
 * the ring, and in each length of the send queue, must be signaled. The completion queue may have
 * completions of other requests, which the ring passes over; their ids must not be the ring's. The
 * send queue may hold fewer requests than the ring. Requests that a reset of the queue pair
 * discards do not complete: create another ring after it. Nothing is allocated.
 *
 * <p>{@link #next} and {@link #post} are called by one thread at a time, {@link #completed} by one
 * thread at a time, which may be another one.
 */
public final class SendRing {
  private final QueuePair queuePair;
  private final SendList requests;
  private final int size;
  private final long firstId;

  /** The number of requests that {@link #next} has returned, and of those that were posted. */
  private long taken;

  private long posted;

  /** The number of requests that have completed, as the thread that posts last read it. */
  private long seen;

  private final AtomicLong completed = new AtomicLong();

  /**
   * Creates a ring. Nothing is posted yet.
   *
   * @param queuePair the queue pair that the requests are posted to
   * @param requests the send requests, which need not be formatted
   * @param firstId the id of the first request, which the others follow: ids that no other request
   *     of the completion queue has
   * @throws IllegalArgumentException if the queue pair is of type SRD, whose requests complete in
   *     any order
   */
  public SendRing(QueuePair queuePair, SendList requests, long firstId) {
    if (queuePair.type() == QueuePairType.SRD) {
      throw new IllegalArgumentException("requests of an SRD queue pair complete in any order");
    }
    this.queuePair = queuePair;
    this.requests = requests;
    this.size = requests.size();
    this.firstId = firstId;
  }

  /**
   * Returns the next request that can be formatted; {@link #post} posts it.
   *
   * @return its index in the list, or -1 if none has completed
   */
  public int next() {
    if (taken - seen == size) {
      seen = completed.getAcquire();
      if (taken - seen == size) {
        return -1;
      }
    }
    return (int) (taken++ % size);
  }

  /**
   * Posts the requests that {@link #next} has returned, with at most two calls. Those that it does
   * not post remain to be posted by the next call.
   *
   * @return the number of requests that were posted; less than all if the send queue is full
   * @throws VerbsException if the post fails for another reason. The requests before {@link
   *     SendList#badRequest} were posted; if that is -1, the ring assumes that none was posted
   */
  public int post() {
    long before = posted;
    int wanted;
    int accepted;
    do {
      int first = (int) (posted % size);
      wanted = (int) Math.min(taken - posted, size - first);
      accepted = post(first, wanted);
      posted += accepted;
    } while (accepted == wanted && posted < taken);
    return (int) (posted - before);
  }

  private int post(int first, int count) {
    for (int i = first; i < first + count; i++) {
      requests.id(i, firstId + i);
    }
    try {
      return queuePair.post(requests, first, count);
    } catch (VerbsException e) {
      posted += Math.max(requests.badRequest() - first, 0);
      throw e;
    }
  }

  /**
   * Makes the requests of the completions of the last poll, and those before them, available to
   * {@link #next}, whether they succeeded or not.
   *
   * @param completions the polled completions
   * @return the number of requests that have completed
   */
  public int completed(Completions completions) {
    long before = completed.getPlain();
    long now = before;
    for (int i = 0; i < completions.count(); i++) {
      if (owns(completions, i)) {
        now += Math.floorMod(completions.id(i) - firstId - now, (long) size) + 1;
      }
    }
    completed.setRelease(now);
    return (int) (now - before);
  }

  /**
   * Returns whether a completion is of a send request of this ring.
   *
   * @param completions the polled completions
   * @param index the index of the completion
   * @return true if its id is one of the ring's
   */
  public boolean owns(Completions completions, int index) {
    long number = completions.id(index) - firstId;
    return number >= 0 && number < size;
  }

  @Override
  public String toString() {
    return "ring of %d send requests of %s, %d posted, %d completed"
        .formatted(size, queuePair, posted, completed.get());
  }
}
