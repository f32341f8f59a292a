package dev.verbena.internal;

import dev.verbena.VerbsException;

/** Explains the failure of a C function: adds what the caller of the function knows. */
public final class Explanation {
  private Explanation() {}

  /**
   * Returns a failure with a further explanation.
   *
   * @param failure the failure
   * @param text the object, the argument, advice
   * @return an exception with the explanation first and the failure as its cause
   */
  public static VerbsException add(VerbsException failure, String text) {
    String details = failure.details().isEmpty() ? text : text + "; " + failure.details();
    VerbsException explained = new VerbsException(failure.function(), failure.errno(), details);
    explained.initCause(failure);
    return explained;
  }

  /** Adds an explanation if the function, or an option of it, is not supported. */
  public static VerbsException addIfUnsupported(VerbsException failure, String text) {
    return failure.isUnsupported() ? add(failure, text) : failure;
  }
}
