package dev.verbena.testing;

import dev.verbena.internal.time.Time;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Waits for what another thread, a device or a program does. No wait of a test has a limit of its
 * own: whoever runs the tests notices that none of them makes progress, shows the stacks of all
 * threads, and interrupts the test or ends the run. In a simulation, where an hour takes no time,
 * one of {@link #LIMIT} fails.
 */
public final class Await {
  /**
   * For calls and frameworks that want a limit: longer than whoever runs the tests lets one of them
   * wait, on the slowest machine, too.
   */
  public static final Duration LIMIT = Duration.ofHours(1);

  private static final int SPINS = 1_000;
  private static final long PAUSE_NANOS = 50_000;

  /** Between two attempts at what takes longer than a look. */
  private static final Duration BETWEEN_ATTEMPTS = Duration.ofMillis(100);

  private Await() {}

  /**
   * Returns once a thread waits: in Java, since the state of a thread does not show a wait in C.
   */
  public static void waits(Thread thread) {
    until(
        () -> thread + " to wait",
        () ->
            switch (thread.getState()) {
              case WAITING, TIMED_WAITING, BLOCKED, TERMINATED -> true;
              case NEW, RUNNABLE -> false;
            });
  }

  /**
   * Lets a moment pass between two looks at what another thread does.
   *
   * @param tries how often this thread has looked before
   */
  public static void spin(int tries) {
    if (Time.simulation() != null) {
      Time.park(PAUSE_NANOS * (1 + tries) * (1 + tries)); // A wait in vain takes few looks.
    } else if (tries < SPINS) {
      Thread.onSpinWait();
    } else {
      LockSupport.parkNanos(PAUSE_NANOS); // Leaves the processor to those that it waits for.
    }
  }

  /** What may succeed later. */
  public interface Attempt<T, E extends Exception> {
    /** Returns null if it did not succeed yet. */
    @Nullable T make() throws E;
  }

  /** Repeats an attempt, with pauses, until it returns a value that is not null. */
  public static <T, E extends Exception> T attempt(String what, Attempt<T, E> attempt)
      throws E, InterruptedException {
    while (true) {
      T value = attempt.make();
      if (value != null) {
        return value;
      }
      pass(BETWEEN_ATTEMPTS, what);
    }
  }

  /**
   * Lets time pass where time is what the test is about, or where nothing shows what is awaited and
   * the test passes without the wait, too. Never to wait for something.
   *
   * @param reason what happens meanwhile, for the reader
   */
  public static void pass(Duration time, String reason) throws InterruptedException {
    try {
      Time.sleep(time.toNanos());
    } catch (InterruptedException e) {
      InterruptedException interrupted = new InterruptedException(reason);
      interrupted.initCause(e);
      throw interrupted;
    }
  }

  /** Returns once a condition holds; fails if the thread is interrupted before. */
  public static void until(String what, BooleanSupplier condition) {
    until(() -> what, condition);
  }

  /** The same, with a text that is made if the wait fails. */
  public static void until(Supplier<String> what, BooleanSupplier condition) {
    var _ = value(what, () -> condition.getAsBoolean() ? true : null);
  }

  /** Returns the first value that is not null; fails if the thread is interrupted before. */
  public static <T> T value(Supplier<String> what, Supplier<@Nullable T> source) {
    long end = Time.now() + LIMIT.toNanos();
    for (int tries = 0; ; tries++) {
      T value = source.get();
      if (value != null) {
        return value;
      }
      boolean isOver = Time.simulation() != null && Time.now() - end > 0;
      if (isOver || Thread.currentThread().isInterrupted()) {
        throw new AssertionError("waited in vain: " + what.get());
      }
      spin(tries);
    }
  }
}
