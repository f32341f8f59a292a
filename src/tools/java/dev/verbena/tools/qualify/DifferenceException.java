package dev.verbena.tools.qualify;

/** What a trial found differs from what the manual page says. */
final class DifferenceException extends RuntimeException {
  private static final long serialVersionUID = 1;

  DifferenceException(String message) {
    super(message);
  }
}
