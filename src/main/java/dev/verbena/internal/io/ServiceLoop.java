package dev.verbena.internal.io;

import dev.verbena.internal.foreign.FailureLog;
import dev.verbena.internal.time.Time;
import java.util.concurrent.TimeUnit;

/**
 * The loop of a thread that serves all threads of the process. No exception or error ends it: each
 * is logged, and the threads that wait are woken, so that they fail by themselves or wait again.
 */
public final class ServiceLoop {
  private static final FailureLog FAILURES =
      new FailureLog(System.getLogger("dev.verbena"), "unexpected failure");

  /** Between a failure and the next step, which may fail for the same reason. */
  private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(50);

  private ServiceLoop() {}

  /**
   * Repeats a step without end.
   *
   * @param step the step
   * @param afterFailure wakes the threads that wait, after a step that failed
   */
  public static void run(Runnable step, Runnable afterFailure) {
    while (true) {
      if (!attempt(step)) {
        boolean _ = attempt(afterFailure);
        Time.park(PAUSE);
      }
    }
  }

  /**
   * Runs an action, and logs what it throws.
   *
   * @param action the action
   * @return whether it threw nothing
   */
  public static boolean attempt(Runnable action) {
    try {
      action.run();
      return true;
    } catch (Throwable t) {
      log(t);
      return false;
    }
  }

  /** Logs what an action threw. */
  public static void log(Throwable failure) {
    FAILURES.log(failure);
  }
}
