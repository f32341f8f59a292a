package dev.verbena.util;

import dev.verbena.internal.BatchFailure;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.ReceiveQueue;
import java.util.Objects;

/**
 * A ring of receive requests that are posted again after they were handled.
 *
 * {@snippet :
 * ReceiveRing ring = new ReceiveRing(queuePair, receives);
 * ring.start();
 * while (running) {
 *   queue.poll(completions);
 *   ring.handle(completions, (batch, i, request) -> consume(request, batch.byteLength(i)));
 * }
 * }
 *
 * <p>The ring sets the {@code wr_id} of each request to its index, and no completion of another
 * request may be passed to it. If the completion queue also has completions of other requests, such
 * as sends, {@linkplain #ReceiveRing(ReceiveQueue, ReceiveList, long) choose a first id}: the ring
 * then passes over completions with other ids, and {@link #owns} tells them apart. Nothing else may
 * be posted to the receive queue. With a shared receive queue, a {@link QueuePairMap} has the
 * object of each queue pair. The program polls, either continuously or with a {@link
 * CompletionWaiter}. Nothing is allocated.
 *
 * <p>A ring is used by one thread at a time.
 */
public final class ReceiveRing {
  private final ReceiveQueue queue;
  private final ReceiveList requests;
  private final long firstId;
  private final boolean skipsOthers;

  /** The range of requests that were handled and not yet posted again. */
  private int from;

  private int count;

  /**
   * Creates a ring of formatted receive requests. Nothing is posted yet.
   *
   * @param queue the queue that the requests are posted to
   * @param requests the receive requests; their ids are set
   */
  public ReceiveRing(ReceiveQueue queue, ReceiveList requests) {
    this(queue, requests, 0, false);
  }

  /**
   * Creates a ring for a completion queue that other requests use, too. Nothing is posted yet.
   *
   * @param queue the queue that the requests are posted to
   * @param requests the receive requests; their ids are set
   * @param firstId the id of the first request, which the others follow: ids that no other request
   *     of the completion queue has
   */
  public ReceiveRing(ReceiveQueue queue, ReceiveList requests, long firstId) {
    this(queue, requests, firstId, true);
  }

  private ReceiveRing(ReceiveQueue queue, ReceiveList requests, long firstId, boolean skipsOthers) {
    this.queue = Objects.requireNonNull(queue, "queue");
    this.requests = requests;
    this.firstId = firstId;
    this.skipsOthers = skipsOthers;
    for (int i = 0; i < requests.size(); i++) {
      requests.id(i, firstId + i);
    }
  }

  /**
   * Returns whether a completion is of a receive request of this ring.
   *
   * @param completions the polled completions
   * @param index the index of the completion
   * @return true if its id is one of the ring's
   */
  public boolean owns(Completions completions, int index) {
    long number = completions.id(index) - firstId;
    return number >= 0 && number < requests.size();
  }

  /**
   * Posts all receive requests for the first time.
   *
   * @throws IllegalStateException if the queue cannot hold all requests
   */
  public void start() {
    post(0, requests.size());
  }

  /**
   * Passes each completion of the last poll to a handler and posts its request again, as many
   * requests with each call as possible. If the handler throws an exception, the rest of the batch
   * is handled and posted; then its first exception is thrown, with the later ones as suppressed
   * exceptions. The request of a failed handler call is not posted again. If a post fails, its
   * exception names the first request that was not posted, and the rest of the batch is posted.
   *
   * @param completions the polled completions
   * @param handler the handler, called for each receive request
   * @return the number of requests that were posted again
   * @throws IllegalStateException if a completion does not belong to this ring, and the ring has no
   *     chosen first id, or if the queue is full
   */
  public int handle(Completions completions, ReceiveHandler handler) {
    Objects.requireNonNull(handler, "handler");
    int posted = 0;
    Throwable failure = null;
    for (int i = 0; i < completions.count(); i++) {
      if (skipsOthers && !owns(completions, i)) {
        continue;
      }
      try {
        int request = request(completions, i);
        boolean good = completions.isSuccess(i);
        if (handler.received(completions, i, request) && good) {
          posted++;
          add(request);
        }
      } catch (Throwable t) {
        failure = BatchFailure.add(failure, t);
      }
    }
    try {
      postHandled(0, 0);
    } catch (Throwable t) {
      failure = BatchFailure.add(failure, t);
    }
    BatchFailure.<RuntimeException>rethrow(failure);
    return posted;
  }

  private int request(Completions completions, int index) {
    if (!owns(completions, index)) {
      throw new IllegalStateException(
          "completion with id "
              + completions.id(index)
              + " does not belong to the ring: its ids are 0 to "
              + (requests.size() - 1));
    }
    return (int) (completions.id(index) - firstId);
  }

  private void add(int request) {
    if (request == from + count) {
      count++;
    } else {
      postHandled(request, 1);
    }
  }

  /** Posts the range, whether or not that succeeds, and begins another one. */
  private void postHandled(int nextFrom, int nextCount) {
    int first = from;
    int handled = count;
    from = nextFrom;
    count = nextCount;
    if (handled > 0) {
      post(first, handled);
    }
  }

  private void post(int first, int wanted) {
    int posted = queue.post(requests, first, wanted);
    if (posted < wanted) {
      throw new IllegalStateException(
          "%s is full: %d requests of the ring were not posted, from request %d on"
              .formatted(queue, wanted - posted, first + posted));
    }
  }

  @Override
  public String toString() {
    return "ring of %d receive requests of %s, %d to be posted again"
        .formatted(requests.size(), queue, count);
  }
}
