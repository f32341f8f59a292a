package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Operations at a fixed rate. */
class PaceTest {
  private static final long MILLISECOND = 1_000_000;

  private long now = 5;

  /** A clock that moves a little whenever it is read. */
  private long tick() {
    now += 1000;
    return now;
  }

  @Test
  void operationsBeginAtTheirTimes() {
    Pace pace = Pace.perSecond(1000, this::tick);
    pace.begin();
    long start = now;
    for (int i = 0; i < 5; i++) {
      assertEquals(start + i * MILLISECOND, pace.next());
      assertTrue(now >= start + i * MILLISECOND, "it has waited");
    }
    assertFalse(pace.isMissed());
  }

  @Test
  void stallIsPartOfTheTimesThatItDelays() {
    Pace pace = Pace.perSecond(1000, this::tick);
    pace.begin();
    long start = now;
    assertEquals(start, pace.next());
    now += 100 * MILLISECOND;
    assertEquals(start + MILLISECOND, pace.next());
    assertTrue(now - (start + MILLISECOND) > 98 * MILLISECOND, "measured from when it was due");
    assertTrue(pace.isMissed());
  }

  @Test
  void unlimitedPaceDoesNotWait() {
    Pace pace = Pace.unlimited();
    long before = System.nanoTime();
    assertTrue(pace.next() >= before);
    assertFalse(pace.isMissed());
    assertFalse(pace.isFixed());
  }
}
