package dev.verbena.soft.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Timers expire in the order of their deadlines, unless they are stopped. */
class TimerQueueTest {
  private final TimerQueue queue = new TimerQueue();
  private final List<Long> expired = new ArrayList<>();

  private Timer timer() {
    Timer[] made = new Timer[1];
    made[0] = new Timer(queue, () -> expired.add(made[0].deadline));
    return made[0];
  }

  @Test
  void expireInOrder() {
    Random random = new Random(1);
    List<Long> deadlines = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      Timer timer = timer();
      timer.start(random.nextInt(1000));
      if (i % 3 == 0) {
        timer.stop();
      } else if (i % 3 == 1) {
        timer.start(random.nextInt(1000));
        deadlines.add(timer.deadline);
      } else {
        deadlines.add(timer.deadline);
      }
    }
    queue.expire(499);
    assertEquals(deadlines.stream().filter(d -> d < 500).sorted().toList(), expired);
    queue.expire(1000);
    assertEquals(deadlines.stream().sorted().toList(), expired);
    assertTrue(queue.isEmpty());
  }

  @Test
  void stoppedTimerDoesNotExpire() {
    Timer timer = timer();
    timer.start(5);
    assertTrue(timer.isRunning());
    timer.stop();
    timer.stop();
    assertFalse(timer.isRunning());
    queue.expire(10);
    assertEquals(List.of(), expired);
  }

  @Test
  void deadlinesMayOverflow() {
    Timer late = timer();
    late.start(Long.MIN_VALUE + 1);
    Timer early = timer();
    early.start(Long.MAX_VALUE);
    assertEquals(Long.MAX_VALUE, queue.earliest());
    queue.expire(Long.MAX_VALUE);
    assertEquals(List.of(Long.MAX_VALUE), expired);
  }
}
