package dev.verbena.tools;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import java.time.Duration;
import java.util.function.Supplier;

/** A completion queue whose completions are slept for, on the queue's channel. */
final class Awaited {
  /** How long to sleep before looking after the peer. */
  private static final Duration WATCH = Duration.ofSeconds(1);

  private final CompletionQueue queue;
  private final Supplier<String> peersEnd;
  private final Completions completions = new Completions(16);

  /**
   * On a queue with a channel of its own.
   *
   * @param peersEnd says why nothing will come any more, or null as long as something may
   */
  Awaited(CompletionQueue queue, Supplier<String> peersEnd) {
    this.queue = queue;
    this.peersEnd = peersEnd;
    queue.requestNotification();
  }

  /** Sleeps until there are completions, which must be good. They are valid until the next call. */
  Completions take() throws InterruptedException {
    while (queue.poll(completions) == 0) {
      String end = peersEnd.get();
      if (queue.channel().orElseThrow().poll(WATCH) != null) {
        queue.requestNotification();
      } else if (end != null) {
        throw new Failure(end);
      }
    }
    for (int i = 0; i < completions.count(); i++) {
      if (!completions.isSuccess(i)) {
        throw new Failure(
            "work completion status " + completions.status(i).text(),
            new IllegalStateException(completions.describe(i)));
      }
    }
    return completions;
  }
}
