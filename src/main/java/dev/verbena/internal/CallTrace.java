package dev.verbena.internal;

import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Logs each control call with its C arguments and result, if the logger {@value #NAME} has level
 * TRACE (FINER in java.util.logging). The data path is not traced.
 */
final class CallTrace {
  /** The name of the logger. */
  static final String NAME = "dev.verbena.calls";

  private static final System.Logger LOG = System.getLogger(NAME);

  private CallTrace() {}

  static boolean isOn() {
    return LOG.isLoggable(System.Logger.Level.TRACE);
  }

  static void returned(String function, Object[] arguments, Object result) {
    LOG.log(
        System.Logger.Level.TRACE,
        () -> describe(function, arguments) + (result == null ? "" : " = " + number(result)));
  }

  static void threw(String function, Object[] arguments, Throwable failure) {
    LOG.log(
        System.Logger.Level.TRACE,
        () -> describe(function, arguments) + " failed: " + failure.getMessage());
  }

  private static String describe(String function, Object[] arguments) {
    return arguments == null
        ? function + "()"
        : Arrays.stream(arguments)
            .map(CallTrace::number)
            .collect(Collectors.joining(", ", function + "(", ")"));
  }

  /** Formats a number; possible pointers in hexadecimal. */
  private static String number(Object value) {
    return value instanceof Long pointer && pointer != pointer.intValue()
        ? "0x" + Long.toHexString(pointer)
        : String.valueOf(value);
  }
}
