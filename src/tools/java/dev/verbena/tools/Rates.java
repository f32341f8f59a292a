package dev.verbena.tools;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/** The amount of completed work over time. */
final class Rates {
  private static final long SLICE_NANOS = 50_000_000;

  private final int size;
  private final LongSupplier clock;
  private final long start;
  private final List<double[]> points = new ArrayList<>();
  private long end;
  private long sliceStart;
  private int done;
  private int sliceDone;

  Rates(int size, LongSupplier clock) {
    this.size = size;
    this.clock = clock;
    this.start = clock.getAsLong();
    this.end = start;
    this.sliceStart = start;
  }

  void at(int requests) {
    end = clock.getAsLong();
    done = requests;
    if (end - sliceStart >= SLICE_NANOS) {
      double seconds = (end - sliceStart) / 1e9;
      double mebibytes = (double) (done - sliceDone) * size / (1 << 20);
      points.add(new double[] {(end - start) / 1e9, mebibytes / seconds});
      sliceStart = end;
      sliceDone = done;
    }
  }

  double perSecond() {
    return done / ((end - start) / 1e9);
  }

  int done() {
    return done;
  }

  /** Returns the MiB/s of slices of the time, which ended after so many seconds. */
  List<double[]> points() {
    return points;
  }
}
