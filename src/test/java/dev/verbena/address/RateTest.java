package dev.verbena.address;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.Providers;
import dev.verbena.internal.Verbs;
import dev.verbena.testing.DeviceTest;
import org.junit.jupiter.api.Test;

class RateTest {
  @Test
  void ratesAreMultiplesOf2500Megabits() {
    assertEquals(2, Rate.GBPS_5.multiple());
    assertEquals(Rate.GBPS_120, Rate.ofMultiple(48));
    assertEquals(Rate.MAX, Rate.ofMultiple(5));
    assertEquals(-1, Rate.GBPS_100.multiple());
  }

  @Test
  void ratesHaveMegabits() {
    assertEquals(5000, Rate.GBPS_5.megabitsPerSecond());
    assertEquals(Rate.GBPS_100, Rate.ofMegabitsPerSecond(103_125));
    assertEquals(Rate.MAX, Rate.ofMegabitsPerSecond(1));
  }

  /** The installed library may be too old for the newest rates; then it says -1. */
  @DeviceTest
  void agreesWithTheLibrary() {
    Verbs verbs = Providers.system().verbs();
    int agreed = 0;
    for (Rate rate : Rate.values()) {
      int multiple = verbs.ibv_rate_to_mult(rate.code());
      int megabits = verbs.ibv_rate_to_mbps(rate.code());
      if (multiple != -1) {
        assertEquals(multiple, rate.multiple(), rate.name());
        assertEquals(rate.code(), verbs.mult_to_ibv_rate(multiple), rate.name());
        assertEquals(rate, Rate.ofMultiple(multiple));
      }
      if (megabits != -1) {
        agreed++;
        assertEquals(megabits, rate.megabitsPerSecond(), rate.name());
        assertEquals(rate.code(), verbs.mbps_to_ibv_rate(megabits), rate.name());
        assertEquals(rate, Rate.ofMegabitsPerSecond(megabits));
      }
    }
    assertTrue(agreed >= 20, agreed + " rates agreed");
  }
}
