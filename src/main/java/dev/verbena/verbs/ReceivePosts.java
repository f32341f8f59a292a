package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.life.DataPathEntry;

/**
 * Posts lists of receive requests to one queue: what queue pairs, shared receive queues and work
 * queues have in common.
 */
final class ReceivePosts {
  /** The C function that posts to this kind of queue, as {@code ibv_post_recv}. */
  interface Function {
    /**
     * Posts a list of receive requests.
     *
     * @param wr the first {@code ibv_recv_wr}
     * @param badWr where to store the address of the first request that was not posted
     * @return an errno
     */
    int post(long wr, long badWr);
  }

  private final RequestList.Limits limits;
  private final Function function;
  private final PostFailure failure;

  /**
   * Posts to a queue.
   *
   * @param limits the queue and its limits
   * @param name the name of the C function
   */
  ReceivePosts(RequestList.Limits limits, String name, Function function, PostFailure.Check check) {
    this.limits = limits;
    this.function = function;
    this.failure = new PostFailure(limits.queue(), name, check);
  }

  /**
   * Posts a range of a list.
   *
   * @return the number of requests that were posted; less than {@code count} if the queue is full
   * @throws VerbsException if the post failed for another reason
   */
  int post(ReceiveList list, int from, int count) {
    DataPathEntry entry = list.user.enter();
    try {
      if (BoundsChecks.ON && !list.isValidated(limits.queue(), from, count)) {
        list.validate(limits, from, count);
      }
      if (count == 0) {
        return 0;
      }
      int errno = function.post(list.chain(from, count), list.badRequestWord());
      list.memory.keep();
      return errno == 0 ? count : failure.posted(errno, list, from, count);
    } finally {
      entry.leave();
    }
  }
}
