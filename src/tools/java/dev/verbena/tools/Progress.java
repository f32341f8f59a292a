package dev.verbena.tools;

import java.io.PrintWriter;
import java.io.Writer;
import java.util.function.LongSupplier;

/** Prints the progress of a long run from time to time; nothing for a short one. */
final class Progress {
  private static final long PAUSE_NANOS = 2_000_000_000L;

  private final PrintWriter err;
  private final LongSupplier clock;
  private String what = "";
  private int warmUp;
  private int total;
  private long last;

  Progress(PrintWriter err, LongSupplier clock) {
    this.err = err;
    this.clock = clock;
    this.last = clock.getAsLong();
  }

  /** Returns a progress that prints nothing. */
  static Progress none() {
    return new Progress(new PrintWriter(Writer.nullWriter()), () -> 0);
  }

  /** Begins a part of the run: the warm-up, then what is measured. */
  void begin(String part, int partWarmUp, int partTotal) {
    what = part;
    warmUp = partWarmUp;
    total = partTotal;
  }

  /** Sets how many operations of the part have ended, those of the warm-up included. */
  void at(int done) {
    long now = clock.getAsLong();
    if (now - last > PAUSE_NANOS) {
      last = now;
      if (done <= warmUp) {
        print(what + ", warm-up", done, warmUp);
      } else {
        print(what, done - warmUp, total);
      }
    }
  }

  private void print(String part, int done, int all) {
    err.println(part + ": " + done + " of " + all + " (" + 100L * done / all + " %)");
  }
}
