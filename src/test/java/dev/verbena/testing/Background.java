package dev.verbena.testing;

import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** Work of a test in a thread of its own. */
public final class Background {
  private Background() {}

  /** Runs something in a virtual thread. */
  public static <T> FutureTask<T> inBackground(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    Thread.ofVirtual().start(task);
    return task;
  }
}
