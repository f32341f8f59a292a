package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.time.Duration;

/** Spinning, then sleeping, on a device. */
class CompletionWaiterOnDeviceTest {
  @DeviceTest
  void spinsAndSleepsOnADevice() throws InterruptedException {
    Completions completions = new Completions(4);
    try (Context opened = Rig.a().open()) {
      Loop loop = new Loop(opened, opened.createCompletionChannel());
      CompletionWaiter waiter = new CompletionWaiter(loop.cq, Duration.ofNanos(200_000));
      for (int i = 0; i < 50; i++) {
        assertEquals(0, i % 10 == 0 ? waiter.poll(completions, Duration.ofMillis(5)) : 0);
        loop.send(i, false);
        assertEquals(1, waiter.poll(completions, Await.LIMIT));
        assertTrue(completions.isSuccess(0), completions.describe(0));
      }
      loop.close();
    }
  }
}
