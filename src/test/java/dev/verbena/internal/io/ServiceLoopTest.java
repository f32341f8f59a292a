package dev.verbena.internal.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.LoggedMessages;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** The threads that serve the whole process survive whatever is thrown in them. */
class ServiceLoopTest {
  private static final String FAILURE = "unexpected failure in thread ";

  @Test
  void nothingThatIsThrownEndsTheLoop() throws Exception {
    List<Throwable> thrown =
        List.of(
            new IllegalStateException("for the test"),
            new OutOfMemoryError("for the test"),
            new StackOverflowError("for the test"),
            new NoClassDefFoundError("for the test"));
    AtomicInteger steps = new AtomicInteger();
    AtomicInteger wakes = new AtomicInteger();
    CountDownLatch over = new CountDownLatch(1);
    try (LoggedMessages messages = new LoggedMessages("dev.verbena", Level.SEVERE, FAILURE)) {
      Thread.ofPlatform()
          .daemon()
          .name("service")
          .start(
              () ->
                  ServiceLoop.run(
                      () -> {
                        int step = steps.getAndIncrement();
                        if (step < thrown.size()) {
                          ServiceLoopTest.<RuntimeException>sneak(thrown.get(step));
                        }
                        over.countDown();
                        parkForEver();
                      },
                      () -> {
                        wakes.incrementAndGet();
                        throw new IllegalStateException("the waiters cannot be woken");
                      }));
      over.await();
      assertEquals(thrown.size(), wakes.get());
      for (int i = 0; i < 2 * thrown.size(); i++) {
        assertEquals("SEVERE: " + FAILURE + "service", messages.next());
      }
    }
  }

  private static void parkForEver() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <T extends Throwable> void sneak(Throwable t) throws T {
    throw (T) t;
  }

  /** One waiter of the poller throws; the others, and later ones, are woken all the same. */
  @Test
  void aWaiterThatFailsDoesNotEndThePoller() throws Exception {
    EventFile failing = EventFile.open();
    EventFile other = EventFile.open();
    try (Readiness bad = Readiness.of(failing.descriptor());
        Readiness good = Readiness.of(other.descriptor())) {
      AtomicInteger woken = new AtomicInteger();
      Poller.Waiter thrower =
          new Poller.Waiter(bad) {
            @Override
            void wake() {
              woken.incrementAndGet();
              throw new OutOfMemoryError("for the test");
            }
          };
      Poller.get().add(failing.descriptor(), thrower);
      CountDownLatch second = new CountDownLatch(1);
      bad.whenReadable(second::countDown);
      failing.add();
      second.await();
      assertEquals(1, woken.get());
      CountDownLatch later = new CountDownLatch(1);
      good.whenReadable(later::countDown);
      other.add();
      later.await();
      assertTrue(good.isReadable());
    } finally {
      failing.close();
      other.close();
    }
  }
}
