package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;

class CopyingThreadsTest {
  private final ReentrantLock lock = new ReentrantLock();
  private final CopyingThreads copying = new CopyingThreads(lock);

  private void locked(Runnable action) {
    lock.lock();
    try {
      action.run();
    } finally {
      lock.unlock();
    }
  }

  @Test
  void waitEndsAlthoughAThreadCopies() {
    locked(copying::enter);
    IllegalStateException e =
        assertThrows(
            IllegalStateException.class,
            () -> locked(() -> copying.awaitNone(TimeUnit.MILLISECONDS.toNanos(1))));
    assertTrue(e.getMessage().contains("1 threads have not returned"), e::getMessage);
    locked(copying::leave);
    locked(() -> copying.awaitNone(0));
  }

  @Test
  void waitEndsWithTheLastThreadAndKeepsAnInterrupt() throws Exception {
    locked(copying::enter);
    locked(copying::enter);
    var waiting =
        ChannelBehaviour.inBackground(
            () -> {
              Thread.currentThread().interrupt();
              locked(() -> copying.awaitNone(Long.MAX_VALUE));
              return Thread.interrupted();
            });
    locked(copying::leave);
    assertEquals(false, waiting.isDone());
    locked(copying::leave);
    Await.until("the end of the wait", waiting::isDone);
    assertEquals(true, waiting.get());
  }
}
