package dev.verbena.tools;

import java.io.IOException;
import org.HdrHistogram.Histogram;

/**
 * A latency, measured with as many operations as fit a time.
 *
 * @param nanos the time
 * @param transfers how many transfers an operation has: two if the peer answers
 */
record TimedLatency(long nanos, int transfers) {
  static final int FEWEST = 20;
  private static final int MOST = 20_000;

  /**
   * Measures, after as many operations that are not counted as half of those that are.
   *
   * <p>How many fit is estimated by a probe, whose code is interpreted at first; so the measurement
   * is repeated as long as its result says that twice as many fit.
   */
  Histogram measure(PerfTask probe, Measurement<PerfTask, Histogram> run)
      throws IOException, InterruptedException {
    int n = fitting(run.of(probe));
    while (true) {
      Histogram times = run.of(probe.with(n / 2, n));
      int next = fitting(times);
      if (next < 2 * n) {
        return times;
      }
      n = next;
    }
  }

  private int fitting(Histogram times) {
    return iterations(nanos, transfers * times.getMean());
  }

  /** Returns how many operations fit a time, within bounds. */
  static int iterations(long nanos, double nanosOfOne) {
    return (int) Math.clamp(nanos / Math.max(nanosOfOne, 1), FEWEST, MOST);
  }
}
