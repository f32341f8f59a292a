package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("host")
class ClosingThreadsTest {
  private static final long FOREVER = Long.MAX_VALUE;

  @Test
  void callerWaitsForTheCall() throws Exception {
    Thread[] thread = new Thread[1];
    ClosingThreads.run(() -> thread[0] = Thread.currentThread(), FOREVER);
    assertTrue(thread[0].isDaemon());
  }

  @Test
  void callerGetsTheFailure() {
    ClosingThreads.Call failing =
        () -> {
          throw new IOException("of the call");
        };
    IOException e = assertThrows(IOException.class, () -> ClosingThreads.run(failing, FOREVER));
    assertEquals("of the call", e.getMessage());
  }

  @Test
  void callGoesOnAfterTheTime() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    ClosingThreads.run(() -> endsWith(end, ended), TimeUnit.MILLISECONDS.toNanos(1));
    ClosingThreads.run(() -> endsWith(end, ended), 0);
    assertEquals(1, ended.getCount());
    end.countDown();
    ended.await();
  }

  @Test
  void interruptedThreadDoesNotWait() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    Thread.currentThread().interrupt();
    ClosingThreads.run(() -> endsWith(end, ended), FOREVER);
    assertTrue(Thread.interrupted());
    end.countDown();
    ended.await();
  }

  private static void endsWith(CountDownLatch end, CountDownLatch ended) {
    try {
      end.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    ended.countDown();
  }

  @Test
  void endOfTheJvmWaitsForCallsThatEnd() {
    String output = new ForkedJvm().run(Ends.class, "1").succeeded();
    assertTrue(output.contains("the call has ended"), output);
  }

  @Test
  void endOfTheJvmDoesNotWaitForEver() {
    String output = new ForkedJvm().run(Ends.class, String.valueOf(FOREVER)).succeeded();
    assertFalse(output.contains("the call has ended"), output);
  }

  /** Ends during a call that takes a number of seconds. */
  static final class Ends {
    public static void main(String[] arguments) {
      ClosingThreads.start(
          () -> {
            try {
              TimeUnit.SECONDS.sleep(Long.parseLong(arguments[0]));
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            System.out.println("the call has ended");
          });
    }
  }
}
