package dev.verbena.soft;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Ends the connections of devices over UDP when the JVM ends in an orderly way: at the end of main
 * or by {@code System.exit}, as the kernel does for a process that ends. Their peers would wait
 * otherwise.
 */
final class Departures {
  private static final Set<Runnable> ENDS = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(Departures::depart, "verbena-soft-exit"));
  }

  private Departures() {}

  private static void depart() {
    ENDS.forEach(Runnable::run);
  }

  /** Adds what ends the connections of a network. */
  static void add(Runnable end) {
    ENDS.add(end);
  }

  static void remove(Runnable end) {
    ENDS.remove(end);
  }
}
