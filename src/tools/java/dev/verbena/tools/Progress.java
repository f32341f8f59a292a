package dev.verbena.tools;

import java.io.PrintWriter;
import java.util.function.LongSupplier;

/** Prints the progress of a long run from time to time; nothing for a short one. */
final class Progress {
  private static final long PAUSE_NANOS = 2_000_000_000L;

  private final PrintWriter err;
  private final int total;
  private final LongSupplier clock;
  private long last;

  Progress(PrintWriter err, int total, LongSupplier clock) {
    this.err = err;
    this.total = total;
    this.clock = clock;
    this.last = clock.getAsLong();
  }

  void at(int done) {
    long now = clock.getAsLong();
    if (now - last > PAUSE_NANOS) {
      last = now;
      err.println(done + " of " + total + " (" + 100L * done / total + " %)");
    }
  }
}
