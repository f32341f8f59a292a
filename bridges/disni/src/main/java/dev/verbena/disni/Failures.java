package dev.verbena.disni;

import java.io.IOException;
import java.io.InterruptedIOException;

/** The exceptions of DiSNI's interface, which are all {@code IOException}s. */
final class Failures {
  private Failures() {}

  /** A call of the library. */
  @FunctionalInterface
  interface Call<T> {
    T get() throws InterruptedException;
  }

  /** A call of the library without a result. */
  @FunctionalInterface
  interface Action {
    void run() throws InterruptedException;
  }

  /** Returns the result of a call, or throws its exception as an {@code IOException}. */
  static <T> T io(Call<T> call) throws IOException {
    try {
      return call.get();
    } catch (InterruptedException e) {
      // The interrupt status stays cleared: DiSNI's event loops go on after an exception, and would
      // fail here for ever.
      throw (IOException) new InterruptedIOException("interrupted").initCause(e);
    } catch (RuntimeException e) {
      throw io(e);
    }
  }

  static void run(Action action) throws IOException {
    io(
        () -> {
          action.run();
          return null;
        });
  }

  /** Returns an exception with the message of the library: function, errno, object and advice. */
  static IOException io(RuntimeException e) {
    return new IOException(e.getMessage(), e);
  }

  /** Throws an exception if an object of DiSNI is closed. */
  static void requireOpen(boolean open, String what) throws IOException {
    if (!open) {
      throw new IOException("the " + what + " is closed");
    }
  }

  /** Returns an argument as an object of this artifact. */
  static <T> T own(Class<T> type, Object argument, String what) throws IOException {
    if (argument == null) {
      throw new IOException("the " + what + " is null");
    }
    if (!type.isInstance(argument)) {
      throw new IOException(
          "the " + what + " is of another provider: " + argument.getClass().getName());
    }
    return type.cast(argument);
  }
}
