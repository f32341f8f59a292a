package dev.verbena.verbs;

import dev.verbena.internal.CheckReturnValue;

/**
 * A queue that receive requests are posted to: of a queue pair, a shared receive queue, or a work
 * queue.
 */
public interface ReceiveQueue {
  /**
   * Posts all receive requests of a list.
   *
   * @param list receive requests
   * @return the number of requests that were posted, from the first one on; less than all if the
   *     queue is full
   * @throws IllegalArgumentException if a request does not suit the queue; nothing is posted
   * @throws IllegalStateException if the queue or a region that a request names is closed; nothing
   *     is posted
   * @throws dev.verbena.VerbsException if the post fails for another reason; the requests before
   *     the failed one were posted, and {@link RequestList#badRequest} returns its index
   */
  @CheckReturnValue
  default int post(ReceiveList list) {
    return post(list, 0, list.size());
  }

  /**
   * Posts a range of receive requests of a list.
   *
   * @param list receive requests
   * @param from the index of the first request
   * @param count the number of requests
   * @return the number of requests that were posted, from the first one on; less than {@code count}
   *     if the queue is full
   * @throws IllegalArgumentException if a request does not suit the queue; nothing is posted
   * @throws IllegalStateException if the queue or a region that a request names is closed; nothing
   *     is posted
   * @throws dev.verbena.VerbsException if the post fails for another reason; the requests before
   *     the failed one were posted, and {@link RequestList#badRequest} returns its index
   */
  @CheckReturnValue
  int post(ReceiveList list, int from, int count);
}
