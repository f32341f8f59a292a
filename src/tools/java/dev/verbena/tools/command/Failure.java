package dev.verbena.tools.command;

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

  /** Returns the exception for wrong usage of a command, which prints its usage. */
  public static ParameterException usage(CommandSpec spec, String why) {
    return new ParameterException(spec.commandLine(), why);
  }

  /** Requires that the number of an option is at least, and at most, so large. */
  public static void require(CommandSpec spec, String option, long number, long least, long most) {
    if (number < least || number > most) {
      String limits = most >= Integer.MAX_VALUE ? least + " or more" : least + " to " + most;
      throw usage(spec, option + " must be " + limits + ": " + number);
    }
  }
}
