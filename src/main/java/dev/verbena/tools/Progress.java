package dev.verbena.tools;

import java.io.PrintWriter;

/** Says from time to time how far a long run is; nothing about a short one. */
final class Progress {
  private static final long PAUSE_NANOS = 2_000_000_000L;

  private final PrintWriter err;
  private final int total;
  private long last = System.nanoTime();

  Progress(PrintWriter err, int total) {
    this.err = err;
    this.total = total;
  }

  void at(int done) {
    long now = System.nanoTime();
    if (now - last > PAUSE_NANOS) {
      last = now;
      err.println(done + " of " + total + " (" + 100L * done / total + " %)");
    }
  }
}
