package dev.verbena.messages;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A place for a request under way of a client. Guarded by the lock of the client, but for what is
 * final or volatile.
 */
final class RequestSlot {
  final int index;
  int sequence;

  /** Whether the answer has not arrived. */
  boolean answerIsDue;

  /** What keeps the slot from being free: its send completion, and its answer. */
  int uses;

  /** The receive request of the answer, and the length of the answer. */
  int receive;

  int length;
  long deadline;
  Duration timeout = Duration.ZERO;
  @Nullable Thread waiter;
  @Nullable CompletableFuture<byte[]> future;

  /** Whether the answer arrived for a thread that waits. */
  volatile boolean isAnswered;

  RequestSlot(int index) {
    this.index = index;
  }
}
