package dev.verbena.internal.foreign;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Logs errors where no exception may leave: in upcalls and in service threads. If the logger itself
 * fails, as it does with a full Java heap, a line on standard error says so, once until logging
 * succeeds again; writing it allocates nothing.
 */
public final class FailureLog {
  private static final byte[] NOT_LOGGED =
      "dev.verbena: an internal error could not be logged, for want of memory or stack\n"
          .getBytes(StandardCharsets.US_ASCII);
  private static final FileOutputStream STANDARD_ERROR = new FileOutputStream(FileDescriptor.err);

  private static volatile byte @Nullable [] notLogged;
  private static volatile boolean failing;

  static {
    // The first use of a class, a handler or a constant allocates: each path below is run once.
    FailureLog none = new FailureLog((System.Logger) null, "");
    Throwable t = new OutOfMemoryError();
    none.log(t); // Fails to log, and to write null.
    failing = false;
    notLogged = new byte[0];
    none.log(t);
    failing = false;
    notLogged = NOT_LOGGED;
  }

  private final System.@Nullable Logger logger;
  private final String message;

  /**
   * Creates a log.
   *
   * @param source the class whose name the logger has
   * @param message what has happened; the log adds in which thread
   */
  public FailureLog(Class<?> source, String message) {
    this(System.getLogger(source.getName()), message);
  }

  public FailureLog(System.@Nullable Logger logger, String message) {
    this.logger = logger;
    this.message = message + " in thread ";
  }

  /** Logs an error at level ERROR, with the name of this thread; throws nothing. */
  public void log(Throwable t) {
    try {
      logger.log(System.Logger.Level.ERROR, message + Thread.currentThread().getName(), t);
      failing = false;
    } catch (Throwable ofLogger) {
      complain();
    }
  }

  private static void complain() {
    if (failing) {
      return;
    }
    failing = true;
    try {
      STANDARD_ERROR.write(notLogged);
    } catch (Throwable t) {
      // Nothing is left that could report it; the caller gets its result.
    }
  }
}
