package dev.verbena.internal.foreign;

import java.util.Iterator;
import java.util.List;

/** Closing of what was made before a failure, which must not replace the failure. */
public final class AfterFailure {
  private AfterFailure() {}

  /**
   * Closes something. What that throws is added to the suppressed exceptions of the failure.
   *
   * @param failure the failure, which the caller throws afterwards
   * @param closing closes it
   */
  public static void close(Throwable failure, Runnable closing) {
    try {
      closing.run();
    } catch (Throwable t) {
      if (!t.equals(failure)) { // The JVM has one error for all that find no memory.
        failure.addSuppressed(t);
      }
    }
  }

  /**
   * Closes several things in their order, also if some of them fail.
   *
   * @param closings closes each
   * @throws RuntimeException the first failure, to which the others are added
   */
  public static void closeAll(Runnable... closings) {
    closeAll(List.of(closings).iterator());
  }

  /** Closes several things, as {@link #closeAll(Runnable...)} does. */
  public static void closeAll(Iterator<Runnable> closings) {
    while (closings.hasNext()) {
      try {
        closings.next().run();
      } catch (Throwable t) {
        while (closings.hasNext()) {
          close(t, closings.next());
        }
        throw t;
      }
    }
  }
}
