package dev.verbena.verbs;

import java.util.Objects;

/**
 * Receive requests that are posted again as soon as they have been handled.
 *
 * <p>
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
 * <p>The ring numbers the requests: the id of each is its index. All completions of their queue
 * must be its own, and nobody else should post to what it posts to. It polls nothing itself, so it
 * goes together with a busy loop as well as with a {@link CompletionWaiter}. Nothing is allocated.
 *
 * <p>A ring is used by one thread at a time.
 */
public final class ReceiveRing {
  private final ReceiveQueue queue;
  private final ReceiveList requests;

  /** Requests that were handled and not yet posted again; they follow each other in the list. */
  private int from;

  private int count;

  /**
   * Makes a ring of formatted requests. Nothing is posted yet.
   *
   * @param queue where the requests go
   * @param requests what is posted; their ids are set
   */
  public ReceiveRing(ReceiveQueue queue, ReceiveList requests) {
    this.queue = Objects.requireNonNull(queue, "queue");
    this.requests = requests;
    for (int i = 0; i < requests.size(); i++) {
      requests.id(i, i);
    }
  }

  /**
   * Posts all requests for the first time.
   *
   * @throws IllegalStateException if the queue has no room for all
   */
  public void start() {
    post(0, requests.size());
  }

  /**
   * Hands every completion of the last poll to a handler and posts its request again, as many as
   * possible with each call of C. If the handler throws, the rest of the batch is handled and
   * posted all the same; then its first exception is thrown, with later ones suppressed in it. The
   * request that it threw for is not posted again.
   *
   * @param completions what was polled
   * @param handler told of each receive
   * @return how many requests were posted again
   * @throws IllegalStateException if a completion is none of this ring's, or if the queue has no
   *     room
   */
  public int handle(Completions completions, ReceiveHandler handler) {
    Objects.requireNonNull(handler, "handler");
    int posted = 0;
    Throwable failure = null;
    for (int i = 0; i < completions.count(); i++) {
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
      postHandled();
    } catch (RuntimeException e) {
      failure = BatchFailure.add(failure, e);
    }
    BatchFailure.<RuntimeException>rethrow(failure);
    return posted;
  }

  private int request(Completions completions, int index) {
    long id = completions.id(index);
    if (id < 0 || id >= requests.size()) {
      throw new IllegalStateException(
          "a completion of request " + id + " is none of a ring of " + requests.size());
    }
    return (int) id;
  }

  private void add(int request) {
    if (request != from + count) {
      postHandled();
      from = request;
    }
    count++;
  }

  private void postHandled() {
    int handled = count;
    count = 0;
    if (handled > 0) {
      post(from, handled);
    }
  }

  private void post(int first, int wanted) {
    int taken = queue.post(requests, first, wanted);
    if (taken < wanted) {
      throw new IllegalStateException(
          queue + " has no room for " + (wanted - taken) + " of the ring's requests");
    }
  }
}
