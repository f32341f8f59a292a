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
}
