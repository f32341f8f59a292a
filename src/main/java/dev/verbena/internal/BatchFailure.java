package dev.verbena.internal;

/**
 * The exceptions of handlers of a batch of completions. They are thrown after the handler has
 * received the whole batch, as the completions are no longer in the queue.
 */
public final class BatchFailure {
  private BatchFailure() {}

  /** Returns the first failure of a batch, with a later one added as suppressed. */
  @SuppressWarnings("ReferenceEquality") // An exception cannot suppress itself.
  public static Throwable add(Throwable first, Throwable next) {
    if (first == null) {
      return next;
    }
    if (first != next) {
      first.addSuppressed(next);
    }
    return first;
  }

  /**
   * Throws the exception of a handler, if any; also checked exceptions, which Kotlin code can
   * throw.
   */
  @SuppressWarnings("unchecked") // Erased: nothing is cast.
  public static <T extends Throwable> void rethrow(Throwable failure) throws T {
    if (failure != null) {
      throw (T) failure;
    }
  }
}
