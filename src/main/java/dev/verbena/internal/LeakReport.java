package dev.verbena.internal;

import java.lang.ref.Cleaner;

/**
 * Reports an object that was not closed. It does not close the object, as a remote side or the
 * hardware may still use it.
 *
 * <p>{@code -Ddev.verbena.leaks=trace} adds the stack trace of its creation.
 */
public final class LeakReport implements Runnable {
  private static final System.Logger LOG = System.getLogger("dev.verbena");
  private static final boolean TRACE = "trace".equals(System.getProperty("dev.verbena.leaks"));

  private final String description;
  private final Exception origin;
  private volatile boolean closed;

  /** Prepares the report of an object. */
  public LeakReport(String description) {
    this.description = description;
    this.origin = TRACE ? new Exception("created here") : null;
  }

  /** The cleaner, whose thread starts with the first watched object. */
  private static final class Holder {
    static final Cleaner CLEANER = Cleaner.create();
  }

  /** Watches an object for unreachability. */
  public <T> T watch(T object) {
    Holder.CLEANER.register(object, this);
    return object;
  }

  /** Cancels the report: the object was closed. */
  public void closed() {
    closed = true;
  }

  @Override
  public void run() {
    if (!closed) {
      LOG.log(
          System.Logger.Level.WARNING,
          description
              + " was never closed"
              + (TRACE ? "" : "; -Ddev.verbena.leaks=trace adds where it was created"),
          origin);
    }
  }
}
