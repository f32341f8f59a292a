package dev.verbena.messages;

import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;

/**
 * The receive requests of a connection, each with memory for a message, which are posted again when
 * the message is no longer used. There are some more than the queue has: in place of those whose
 * messages are used for long. Guarded by a lock of the user.
 */
final class PostedReceives {
  /** How many are posted by one call, at most. */
  private static final int BATCH = 16;

  private final QueuePair queuePair;
  private final ReceiveList list;

  /** Those that are not in the queue: first the spare ones, then those that are to be posted. */
  private final int[] unposted;

  private int unpostedCount;
  private int spares;

  /** How many are in the queue. */
  private int posted;

  /**
   * Posts the receive requests.
   *
   * @param spares how many of them are not posted
   */
  PostedReceives(QueuePair queuePair, ReceiveList list, int spares) {
    this.queuePair = queuePair;
    this.list = list;
    this.spares = spares;
    int count = list.size();
    unposted = new int[count];
    for (int i = 0; i < spares; i++) {
      unposted[unpostedCount++] = count - spares + i;
    }
    posted = queuePair.post(list, 0, count - spares);
    if (posted < count - spares) {
      throw new IllegalStateException(
          "%s takes fewer receive requests than %d".formatted(queuePair, count - spares));
    }
  }

  /** One has completed. */
  void completed() {
    posted--;
  }

  /** Returns how many are in the queue. */
  int posted() {
    return posted;
  }

  /** The message of one is no longer used; {@link #flush} posts it again. */
  void add(int index) {
    unposted[unpostedCount++] = index;
  }

  /** Posts one in place of another, whose message is still used; returns false if none is spare. */
  boolean replace() {
    if (spares == 0) {
      return false;
    }
    spares--;
    return flush();
  }

  /** The message of one that was replaced is no longer used. */
  void giveBack(int index) {
    spares++;
    unposted[unpostedCount++] = index;
  }

  /** Posts those that were added, neighbours together; returns false if the queue is full. */
  boolean flush() {
    while (unpostedCount > spares) {
      int last = unpostedCount - 1;
      int first = last;
      while (first > spares
          && last - first + 1 < BATCH
          && unposted[first - 1] == unposted[first] - 1) {
        first--;
      }
      int count = last - first + 1;
      int accepted = queuePair.post(list, unposted[first], count);
      System.arraycopy(unposted, first + accepted, unposted, first, count - accepted);
      unpostedCount -= accepted;
      posted += accepted;
      if (accepted < count) {
        return false;
      }
    }
    return true;
  }
}
