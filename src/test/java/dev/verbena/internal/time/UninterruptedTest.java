package dev.verbena.internal.time;

import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.verbena.testing.Await;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("host")
class UninterruptedTest {
  private static final long LIMIT = Duration.ofMillis(100).toNanos();

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void interruptsDoNotMakeAWaitLonger(boolean isMonitor) throws Exception {
    Object monitor = new Object();
    ReentrantLock lock = new ReentrantLock();
    FutureTask<Boolean> wait =
        new FutureTask<>(
            () -> {
              if (isMonitor) {
                synchronized (monitor) {
                  return Uninterrupted.awaitNotification(monitor, () -> false, LIMIT);
                }
              }
              lock.lock();
              try {
                return Uninterrupted.awaitSignal(lock.newCondition(), () -> false, LIMIT);
              } finally {
                lock.unlock();
              }
            });
    Thread waiting = Thread.ofPlatform().daemon().start(wait);
    Await.until(
        "the wait ends",
        () -> {
          waiting.interrupt();
          return wait.isDone();
        });
    assertFalse(wait.get());
  }
}
