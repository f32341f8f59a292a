package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.life.Core;

/** Interprets the result of the function that posts lists of requests to a queue, if not 0. */
final class PostFailure {
  /** Looks for a cause of a failed post that the C function does not report. */
  interface Check {
    /**
     * Throws an exception if there is such a cause.
     *
     * @param function the name of the C function
     * @param errno its result
     */
    void check(String function, int errno);
  }

  private final Core queue;
  private final String function;
  private final Check check;

  PostFailure(Core queue, String function, Check check) {
    this.queue = queue;
    this.function = function;
    this.check = check;
  }

  /**
   * Returns the number of requests that were posted of a range that was not posted completely.
   *
   * @param result the result of the function, an errno
   * @return the number, if the queue is full
   * @throws VerbsException if the post failed for another reason
   */
  int posted(int result, RequestList list, int from, int count) {
    int errno = Math.abs(result); // Some providers return a negative value.
    list.readBadRequest(from, count);
    check.check(function, errno);
    int bad = list.badRequest();
    if (bad < 0) {
      throw new VerbsException(
          function,
          errno,
          "on %s; bad_wr does not tell which of the %s requests failed%s"
              .formatted(queue, count, hint(errno)));
    }
    int posted = bad - from;
    if (errno == Errno.ENOMEM) {
      return posted;
    }
    throw new VerbsException(
        function,
        errno,
        "%s on %s; the %s requests before it were posted%s"
            .formatted(list.describe(bad), queue, posted, hint(errno)));
  }

  private static String hint(int errno) {
    return errno == Errno.EINVAL ? "; the state of the queue may not allow posting" : "";
  }
}
