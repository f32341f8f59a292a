package dev.verbena.internal.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.testing.Await;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Pipe;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ReadinessTest {
  private static final long FOREVER = Long.MAX_VALUE;

  /** Long enough for a thread to have parked. */
  private static final long SETTLE_MILLIS = 100;

  private final Pipe pipe = new Pipe();
  private final Readiness readiness = Readiness.of(pipe.readEnd());

  enum Kind {
    PLATFORM,
    VIRTUAL;

    Thread start(Runnable task) {
      return this == VIRTUAL ? Thread.ofVirtual().start(task) : Thread.ofPlatform().start(task);
    }
  }

  @AfterEach
  void close() {
    readiness.close();
    pipe.close();
  }

  @ParameterizedTest
  @EnumSource
  void awaitReturnsFalseWhenTheTimeElapses(Kind kind) throws Exception {
    for (long millis : new long[] {0, 1, 30}) {
      long start = System.nanoTime();
      assertFalse(run(kind, () -> readiness.await(TimeUnit.MILLISECONDS.toNanos(millis))).get());
      long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
      assertTrue(took >= millis, millis + " took " + took);
    }
  }

  @ParameterizedTest
  @EnumSource
  void readableDescriptorIsReturnedImmediately(Kind kind) throws Exception {
    pipe.write(7);
    assertTrue(readiness.isReadable());
    assertTrue(run(kind, () -> readiness.await(0)).get());
    assertEquals(7, pipe.read());
    assertFalse(readiness.isReadable());
  }

  @ParameterizedTest
  @EnumSource
  void waitEndsWhenTheDescriptorBecomesReadable(Kind kind) throws Exception {
    for (long delay : new long[] {1, SETTLE_MILLIS}) {
      FutureTask<Boolean> waiting = run(kind, () -> readiness.await(FOREVER));
      Await.pass(Duration.ofMillis(delay), "it waits in poll(2), or is parked");
      pipe.write(delay);
      assertTrue(waiting.get());
      assertEquals(delay, pipe.read());
    }
  }

  @ParameterizedTest
  @EnumSource
  void waitEndsOnInterrupt(Kind kind) throws Exception {
    for (long delay : new long[] {0, SETTLE_MILLIS}) {
      var waiting = new FutureTask<>(() -> readiness.await(FOREVER));
      Thread thread = kind.start(waiting);
      Await.pass(Duration.ofMillis(delay), "it waits in poll(2), or is parked");
      thread.interrupt();
      ExecutionException e = assertThrows(ExecutionException.class, waiting::get);
      assertEquals(InterruptedException.class, e.getCause().getClass());
    }
    pipe.write(1);
    assertTrue(run(kind, () -> readiness.await(FOREVER)).get(), "still of use");
  }

  @ParameterizedTest
  @EnumSource
  void waitEndsOnClose(Kind kind) throws Exception {
    FutureTask<Boolean> early = run(kind, () -> readiness.await(FOREVER));
    FutureTask<Boolean> late = run(kind, () -> readiness.await(FOREVER));
    Await.pass(Duration.ofMillis(SETTLE_MILLIS), "both are parked");
    readiness.close();
    assertFalse(early.get());
    assertFalse(late.get());
    assertFalse(run(kind, () -> readiness.await(FOREVER)).get());
  }

  @Test
  void closeEndsAlthoughAThreadDoesNotLeave() {
    Readiness readiness = Readiness.of(pipe.readEnd(), "the pipe");
    assertTrue(readiness.enter());
    var stuck =
        assertThrows(IllegalStateException.class, () -> readiness.close(Duration.ofMillis(1)));
    assertTrue(
        stuck
            .getMessage()
            .startsWith("the wait on file descriptor " + pipe.readEnd() + " of the pipe"),
        stuck.getMessage());
    assertTrue(stuck.getMessage().contains(Thread.currentThread().toString()), stuck.getMessage());
    assertFalse(readiness.enter(), "closing has begun");
    readiness.leave();
    readiness.close();
  }

  @Test
  void closingOneLeavesTheOtherOnTheSameDescriptor() throws Exception {
    try (Readiness other = Readiness.of(pipe.readEnd())) {
      FutureTask<Boolean> closed = run(Kind.VIRTUAL, () -> readiness.await(FOREVER));
      FutureTask<Boolean> open = run(Kind.VIRTUAL, () -> other.await(FOREVER));
      Await.pass(Duration.ofMillis(SETTLE_MILLIS), "both are parked");
      readiness.close();
      assertFalse(closed.get());
      pipe.write(1);
      assertTrue(open.get());
    }
  }

  @Test
  void descriptorNumberIsUsedAgain() throws Exception {
    for (int i = 0; i < 20; i++) {
      try (Pipe next = new Pipe();
          Readiness wait = Readiness.of(next.readEnd())) {
        FutureTask<Boolean> waiting = run(Kind.VIRTUAL, () -> wait.await(FOREVER));
        Await.pass(Duration.ofMillis(i % 2 * 5L), "it is about to wait, or waits");
        next.write(i);
        assertTrue(waiting.get());
      }
    }
  }

  @Test
  void closedDescriptorThrows() {
    pipe.close();
    assertThrows(IllegalStateException.class, readiness::isReadable);
    assertThrows(IllegalStateException.class, () -> readiness.await(0));
  }

  @Test
  void nothingIsLostBetweenManyThreads() throws Exception {
    int numbers = 2_000;
    Readiness.setNonBlocking(pipe.readEnd());
    var taken = new AtomicInteger();
    List<FutureTask<Boolean>> takers = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Kind kind = i % 2 == 0 ? Kind.PLATFORM : Kind.VIRTUAL;
      takers.add(
          run(
              kind,
              () -> {
                try (Arena arena = Arena.ofConfined()) {
                  var buffer = arena.allocate(Long.BYTES);
                  while (readiness.await(FOREVER)) {
                    long read = pipe.read(buffer);
                    if (read == Long.BYTES) {
                      taken.incrementAndGet();
                    } else {
                      assertEquals(-Errno.EAGAIN, read);
                    }
                  }
                  return true;
                }
              }));
    }
    for (int i = 0; i < numbers; i++) {
      pipe.write(i);
      if (i % 100 == 0) {
        Await.pass(Duration.ofMillis(15), "so that they all park now and then");
      }
    }
    Await.until(() -> numbers + " numbers, after " + taken, () -> taken.get() == numbers);
    readiness.close();
    for (FutureTask<Boolean> taker : takers) {
      assertTrue(taker.get());
    }
  }

  @Test
  void virtualThreadsLeaveTheirCarrier() {
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .with("-Djdk.virtualThreadScheduler.parallelism=1")
            .with("-Djdk.virtualThreadScheduler.maxPoolSize=1")
            .run(ManyWaits.class)
            .succeeded();
    assertTrue(output.contains("all woke"), output);
  }

  /** A thousand virtual threads wait on as many pipes, with one carrier for them all. */
  static final class ManyWaits {
    private static final int THREADS = 1_000;

    private ManyWaits() {}

    public static void main(String[] args) throws Exception {
      List<Pipe> pipes = new ArrayList<>();
      List<FutureTask<Boolean>> waits = new ArrayList<>();
      var waiting = new AtomicInteger();
      for (int i = 0; i < THREADS; i++) {
        Pipe pipe = new Pipe();
        pipes.add(pipe);
        Readiness readiness = Readiness.of(pipe.readEnd());
        waits.add(
            run(
                Kind.VIRTUAL,
                () -> {
                  waiting.incrementAndGet();
                  return readiness.await(FOREVER);
                }));
      }
      Await.until("all threads", () -> waiting.get() == THREADS);
      for (Pipe pipe : pipes.reversed()) {
        pipe.write(1);
      }
      for (FutureTask<Boolean> wait : waits) {
        if (!wait.get()) {
          throw new AssertionError("woke without reason");
        }
      }
      System.out.println("all woke");
    }
  }

  private static FutureTask<Boolean> run(Kind kind, Callable<Boolean> task) {
    var future = new FutureTask<>(task);
    kind.start(future);
    return future;
  }
}
