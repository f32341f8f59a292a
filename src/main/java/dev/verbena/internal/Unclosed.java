package dev.verbena.internal;

import dev.verbena.internal.foreign.AfterFailure;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** What is to be closed, with what could not be closed. Any thread may call any method. */
public final class Unclosed {
  private final Queue<Runnable> closings = new ConcurrentLinkedQueue<>();

  public void add(Runnable closing) {
    closings.add(closing);
  }

  /** Closes one of them. */
  public void close(Runnable closing) {
    closing.run();
    closings.remove(closing);
  }

  /**
   * Closes all, also if some of them fail.
   *
   * @throws RuntimeException the first failure, to which the others are added; what failed is
   *     closed again by a further call
   */
  public void closeAll() {
    AfterFailure.closeAll(
        closings.stream().<Runnable>map(closing -> () -> close(closing)).iterator());
  }
}
