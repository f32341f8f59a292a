package dev.verbena.internal;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the end of the JVM does, at the end of main or by {@code System.exit}: it waits for
 * connections that are being closed, then ends those of devices over UDP, as the kernel does for a
 * process that ends. Their peers would wait otherwise.
 */
public final class Departures {
  private static final Set<Runnable> WAITS = ConcurrentHashMap.newKeySet();
  private static final Set<Runnable> ENDS = ConcurrentHashMap.newKeySet();

  static {
    try {
      Runtime.getRuntime().addShutdownHook(new Thread(Departures::depart, "verbena-exit"));
    } catch (IllegalStateException e) {
      // The JVM is ending already. Then nothing is waited for.
    }
  }

  private Departures() {}

  private static void depart() {
    try { // One hook: the JVM runs several at the same time.
      WAITS.forEach(Runnable::run);
    } finally {
      ENDS.forEach(Runnable::run);
    }
  }

  /** Adds what the end waits for before it ends connections. */
  public static void waitFor(Runnable wait) {
    WAITS.add(wait);
  }

  /** Adds what ends the connections of a network. */
  public static void add(Runnable end) {
    ENDS.add(end);
  }

  /** Takes it back. */
  public static void remove(Runnable end) {
    ENDS.remove(end);
  }
}
