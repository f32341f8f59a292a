package dev.verbena.tools.command;

import dev.verbena.RdmaException;
import dev.verbena.VerbsException;
import java.util.function.Supplier;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** A failure with the message of the C program; the cause, if any, has the details. */
public final class Failure extends RuntimeException {
  private static final long serialVersionUID = 1;

  public Failure(String line) {
    super(line);
  }

  public Failure(String line, Throwable cause) {
    super(line, cause);
  }

  /**
   * Runs a step; if it fails, throws a failure with a message, in which %d is replaced by the
   * errno.
   */
  public static <T> T attempt(String line, Supplier<T> step) {
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

  public static void attempt(String line, Runnable step) {
    attempt(
        line,
        () -> {
          step.run();
          return null;
        });
  }

  /** Returns the exception for wrong usage of a command, which prints its usage. */
  public static ParameterException usage(CommandSpec spec, String why) {
    return new ParameterException(spec.commandLine(), why);
  }

  private static String errno(Exception e) {
    return e instanceof VerbsException verbs ? Integer.toString(verbs.errno()) : "-1";
  }
}
