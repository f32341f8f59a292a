package dev.verbena.verbs;

import java.lang.ref.Cleaner;

/**
 * Reports an object that was never closed. It does not close it: nobody but the user knows whether
 * a peer or the hardware still works on it.
 *
 * <p>{@code -Ddev.verbena.leaks=trace} adds where the object was made.
 */
final class LeakReport implements Runnable {
  private static final System.Logger LOG = System.getLogger("dev.verbena");
  private static final boolean TRACE = "trace".equals(System.getProperty("dev.verbena.leaks"));

  private final String description;
  private final Exception origin;
  private volatile boolean closed;

  /** Prepares a report that says what leaked. */
  LeakReport(String description) {
    this.description = description;
    this.origin = TRACE ? new Exception("made here") : null;
  }

  /** Its thread is started with the first watched object. */
  private static final class Holder {
    static final Cleaner CLEANER = Cleaner.create();
  }

  /** Watches an object that nothing outside keeps alive. */
  <T> T watch(T object) {
    Holder.CLEANER.register(object, this);
    return object;
  }

  /** Nothing leaks any more. */
  void closed() {
    closed = true;
  }

  @Override
  public void run() {
    if (!closed) {
      LOG.log(System.Logger.Level.WARNING, description + " was never closed", origin);
    }
  }
}
