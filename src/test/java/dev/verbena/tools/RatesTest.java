package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** How much was done, over time. */
class RatesTest {
  private static final int MILLISECOND = 1_000_000;

  private long now = 77;

  @Test
  void ratesAreMessagesAndBytesPerSecond() {
    Rates rates = new Rates(4096, () -> now);
    now += 100L * MILLISECOND;
    rates.at(100);
    now += 400L * MILLISECOND;
    rates.at(250);
    assertEquals(500, rates.perSecond());
    assertEquals(500 * 4096, new PerfRate(4096, rates).bytesPerSecond());
  }

  @Test
  void theChartHasTheRateOfEachSlice() {
    Rates rates = new Rates(1 << 20, () -> now);
    now += 20L * MILLISECOND;
    rates.at(2); // Too soon for a slice of its own.
    now += 30L * MILLISECOND;
    rates.at(5);
    now += 100L * MILLISECOND;
    rates.at(6);
    List<double[]> points = rates.points();
    assertEquals(2, points.size());
    assertArrayEquals(new double[] {0.05, 100}, points.get(0), 1e-9);
    assertArrayEquals(new double[] {0.15, 10}, points.get(1), 1e-9);
  }
}
