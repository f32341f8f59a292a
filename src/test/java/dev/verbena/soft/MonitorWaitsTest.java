package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

@EnabledForJreRange(minVersion = 24)
class MonitorWaitsTest {
  @Test
  void whoEntersAMonitorIsDecidedByTheSeed() {
    for (long seed = 0; seed < 4; seed++) {
      assertEquals(entered(seed), entered(seed), "seed " + seed);
    }
  }

  private static List<Integer> entered(long seed) {
    List<Integer> order = new ArrayList<>();
    Object monitor = new Object();
    Simulation.run(
        seed,
        simulation -> {
          for (int i = 0; i < 3; i++) {
            int number = i;
            Thread _ = simulation.actor("actor " + i, () -> enter(monitor, number, order));
          }
        });
    assertEquals(9, order.size());
    return order;
  }

  @SuppressWarnings("ThreadPriorityCheck") // It lets others run, in the order of the seed.
  private static void enter(Object monitor, int number, List<Integer> order)
      throws InterruptedException {
    for (int i = 0; i < 3; i++) {
      synchronized (monitor) {
        Simulation.sleep(Duration.ofMillis(1));
        order.add(number);
      }
      Thread.yield();
    }
  }

  @Test
  void whoIsBlockedByACleanerGoesOnAtOnce() throws Exception {
    for (long seed = 0; seed < 8; seed++) {
      assertEquals(List.of("blocked", "other"), blockedByCleaner(seed), "seed " + seed);
    }
  }

  private static List<String> blockedByCleaner(long seed) throws InterruptedException {
    Object monitor = new Object();
    CountDownLatch isEntered = new CountDownLatch(1);
    AtomicBoolean isBlocked = new AtomicBoolean();
    Thread cleaner =
        Thread.ofPlatform()
            .name("Cleaner-0")
            .start(
                () -> {
                  synchronized (monitor) {
                    isEntered.countDown();
                    while (!isBlocked.get()) {
                      Thread.onSpinWait();
                    }
                    for (long end = System.nanoTime() + 100_000_000; System.nanoTime() < end; ) {
                      Thread.onSpinWait();
                    }
                  }
                });
    isEntered.await();
    List<String> order = new ArrayList<>();
    Simulation.run(
        seed,
        simulation -> {
          Thread other = simulation.actor("other", () -> order.add("other"));
          isBlocked.set(true);
          synchronized (monitor) {
            order.add("blocked");
          }
          other.join();
        });
    cleaner.join();
    return order;
  }

  @Test
  void whoIsNotifiedBeforeItsLimitGoesOn() {
    List<Duration> notified = new ArrayList<>();
    Simulation.run(
        0,
        simulation -> {
          boolean[] isOpen = {false};
          Thread waiting =
              simulation.actor(
                  "waiting",
                  () -> {
                    synchronized (isOpen) {
                      while (!isOpen[0]) {
                        isOpen.wait(Duration.ofDays(1).toMillis());
                      }
                    }
                    notified.add(simulation.now());
                  });
          Simulation.sleep(Duration.ofMillis(1));
          synchronized (isOpen) {
            isOpen[0] = true;
            isOpen.notifyAll();
          }
          waiting.join();
        });
    assertEquals(List.of(Duration.ofMillis(1)), notified);
  }

  @Test
  void whoIsNotifiedGoesOn() {
    for (long seed = 0; seed < 20; seed++) {
      assertEquals(notified(seed), notified(seed), "seed " + seed);
    }
  }

  private static List<Integer> notified(long seed) {
    List<Integer> order = new ArrayList<>();
    Simulation.run(
        seed,
        simulation -> {
          boolean[] isOpen = {false};
          for (int i = 0; i < 5; i++) {
            int number = i;
            Thread _ =
                simulation.actor(
                    "actor " + i,
                    () -> {
                      synchronized (isOpen) {
                        while (!isOpen[0]) {
                          isOpen.wait();
                        }
                      }
                      order.add(number);
                    });
          }
          Simulation.sleep(Duration.ofMillis(simulation.random().nextInt(3)));
          synchronized (isOpen) {
            isOpen[0] = true;
            isOpen.notifyAll();
          }
        });
    assertEquals(5, order.size());
    return order;
  }
}
