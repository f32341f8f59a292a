package dev.verbena.programs;

import dev.verbena.RdmaException;
import dev.verbena.VerbsException;
import dev.verbena.tools.command.Failure;
import java.util.function.Supplier;

/** Steps of a program, each of which has a message of its own if it fails, as in C. */
final class Steps {
  private Steps() {}

  /**
   * Runs a step; if it fails, throws a failure with a message, in which %d is replaced by the
   * errno.
   */
  static <T> T attempt(String line, Supplier<T> step) {
    try {
      return step.get();
    } catch (RdmaException
        | IllegalStateException
        | IllegalArgumentException
        | UnsupportedOperationException
        | IllegalCallerException e) {
      throw new Failure(line.replace("%d", errno(e)), e);
    }
  }

  static void attempt(String line, Runnable step) {
    attempt(
        line,
        () -> {
          step.run();
          return null;
        });
  }

  private static String errno(Exception e) {
    return e instanceof VerbsException verbs ? Integer.toString(verbs.errno()) : "-1";
  }
}
