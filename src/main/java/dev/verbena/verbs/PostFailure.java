package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.life.Core;

/** Interprets the result of a function that posts a list of requests, if it is not 0. */
final class PostFailure {
  private PostFailure() {}

  /**
   * Returns the number of requests that were posted of a range that was not posted completely.
   *
   * @param function the C function
   * @param result its result, an errno
   * @param list the list, which has read {@code bad_wr}
   * @return the number, if the queue is full
   * @throws VerbsException if the post failed for another reason
   */
  static int posted(
      String function, int result, Core queue, RequestList list, int from, int count) {
    int errno = Math.abs(result); // Some providers return a negative value.
    int bad = list.badRequest();
    if (bad < 0) {
      throw new VerbsException(
          function,
          errno,
          "on "
              + queue
              + "; bad_wr does not tell which of the "
              + count
              + " requests failed"
              + hint(errno));
    }
    int posted = bad - from;
    if (errno == Errno.ENOMEM) {
      return posted;
    }
    throw new VerbsException(
        function,
        errno,
        list.describe(bad)
            + " on "
            + queue
            + "; the "
            + posted
            + " requests before it were posted"
            + hint(errno));
  }

  private static String hint(int errno) {
    return errno == Errno.EINVAL ? "; the state of the queue may not allow posting" : "";
  }
}
