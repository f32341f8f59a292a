package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;

/** How whoever closes a connection waits for those who use it. */
class ConnectionLocksTest {
  private final ReentrantLock lock = new ReentrantLock();
  private final CountDownLatch free = new CountDownLatch(1);

  private FutureTask<Void> holdUntilFree() throws InterruptedException {
    CountDownLatch held = new CountDownLatch(1);
    FutureTask<Void> holding =
        Background.inBackground(
            () -> {
              lock.lock();
              try {
                held.countDown();
                free.await();
              } finally {
                lock.unlock();
              }
              return null;
            });
    held.await();
    return holding;
  }

  @Test
  void interruptedThreadAcquiresTheLock() throws Exception {
    FutureTask<Void> holding = holdUntilFree();
    FutureTask<Boolean> acquiring =
        new FutureTask<>(
            () -> {
              Thread.currentThread().interrupt();
              assertTrue(Uninterrupted.acquire(lock, Deadline.after(Await.LIMIT)::remainingNanos));
              lock.unlock();
              return Thread.interrupted();
            });
    Thread thread = Thread.ofVirtual().start(acquiring);
    for (int i = 0; i < 5; i++) {
      Await.waits(thread);
      assertFalse(acquiring.isDone(), "did not wait for the lock");
      thread.interrupt();
    }
    free.countDown();
    assertEquals(true, acquiring.get(), "the interrupt was lost");
    holding.get();
  }

  @Test
  void waitEndsAtTheDeadline() throws Exception {
    FutureTask<Void> holding = holdUntilFree();
    assertFalse(Uninterrupted.acquire(lock, Deadline.after(Duration.ofMillis(50))::remainingNanos));
    free.countDown();
    holding.get();
  }
}
