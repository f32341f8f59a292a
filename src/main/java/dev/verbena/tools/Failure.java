package dev.verbena.tools;

import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionException;
import java.util.function.Supplier;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/**
 * What went wrong, in the line that the C program would write; the cause, if there is one, tells
 * more.
 */
final class Failure extends RuntimeException {
  private static final long serialVersionUID = 1;

  Failure(String line) {
    super(line);
  }

  Failure(String line, Throwable cause) {
    super(line, cause);
  }

  /** Makes a step, whose failure has a line of its own; %d in it becomes the errno. */
  static <T> T attempt(String line, Supplier<T> step) {
    try {
      return step.get();
    } catch (VerbsException
        | ConnectionException
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

  /** What to throw at whoever called a command in the wrong way: its usage will be shown. */
  static ParameterException usage(CommandSpec spec, String why) {
    return new ParameterException(spec.commandLine(), why);
  }

  private static String errno(Exception e) {
    return e instanceof VerbsException verbs ? Integer.toString(verbs.errno()) : "-1";
  }
}
