package dev.verbena.internal.calls;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which calls are critical. */
class CrossingTest {
  private static long critical(Crossing crossing, int calls) {
    return IntStream.range(0, calls).filter(call -> crossing.isCritical()).count();
  }

  @Test
  void oneCallPerIntervalIsPlain() {
    assertEquals(1020, critical(new Crossing(new CriticalCalls(true)), 1024));
  }

  @Test
  void allCallsArePlainIfCriticalIsNotAllowed() {
    assertEquals(0, critical(new Crossing(new CriticalCalls(false)), 1024));
  }

  @Test
  void allQueuesOfAContextEndCriticalCalls() {
    CriticalCalls shared = new CriticalCalls(true);
    Crossing one = new Crossing(shared);
    Crossing other = new Crossing(shared);
    assertEquals(2, critical(one, 1) + critical(other, 1));
    shared.end();
    assertEquals(0, critical(one, 100) + critical(other, 100));
  }
}
