package dev.verbena.internal.foreign;

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
}
