package dev.verbena.verbs;

/**
 * What handlers throw while they are handed the completions of a batch. Nothing is thrown before
 * all of them were handed over, since the queue holds them no longer.
 */
final class BatchFailure {
  private BatchFailure() {}

  /** The first failure of a batch, with a later one added to it as suppressed. */
  @SuppressWarnings("ReferenceEquality") // An exception cannot suppress itself.
  static Throwable add(Throwable first, Throwable next) {
    if (first == null) {
      return next;
    }
    if (first != next) {
      first.addSuppressed(next);
    }
    return first;
  }

  /** Throws what a handler threw, if it threw anything: checked exceptions of Kotlin as well. */
  @SuppressWarnings("unchecked") // Erased: nothing is cast.
  static <T extends Throwable> void rethrow(Throwable failure) throws T {
    if (failure != null) {
      throw (T) failure;
    }
  }
}
