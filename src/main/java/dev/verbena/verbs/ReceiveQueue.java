package dev.verbena.verbs;

/** What receive requests are posted to. */
public sealed interface ReceiveQueue permits QueuePair, SharedReceiveQueue, WorkQueue {
  /**
   * Posts some requests of a list.
   *
   * @param list receive requests
   * @param from the index of the first one
   * @param count how many
   * @return how many were taken, from the first: less than {@code count} if the queue is full
   * @throws IllegalArgumentException if the queue cannot take a request; nothing is posted
   * @throws IllegalStateException if the queue or a region that a request names is closed; nothing
   *     is posted
   * @throws dev.verbena.VerbsException if C refuses a request for another reason; those before it
   *     were taken, and {@link RequestList#refused} tells which it was
   */
  int post(ReceiveList list, int from, int count);
}
