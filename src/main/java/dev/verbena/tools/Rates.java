package dev.verbena.tools;

import java.util.ArrayList;
import java.util.List;

/** How much was done, over time. */
final class Rates {
  private static final long SLICE_NANOS = 50_000_000;

  private final int size;
  private final long start = System.nanoTime();
  private final List<double[]> points = new ArrayList<>();
  private long end = start;
  private long sliceStart = start;
  private int done;
  private int sliceDone;

  Rates(int size) {
    this.size = size;
  }

  void at(int requests) {
    end = System.nanoTime();
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

  double bytesPerSecond() {
    return perSecond() * size;
  }

  Chart chart(String title) {
    return new Chart(title, "seconds", "MiB/s", points);
  }
}
