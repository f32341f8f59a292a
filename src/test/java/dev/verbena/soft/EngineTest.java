package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Task;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.NetworkLink;
import dev.verbena.soft.wire.NoLink;
import dev.verbena.soft.wire.Packet;
import dev.verbena.testing.Await;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The order of what a network's thread does. */
class EngineTest {
  private static final int WAITING = 5;

  /** A link on which packets wait. */
  private static class Waiting implements NetworkLink {
    private final NoLink none = new NoLink();
    private int left;
    private int received;

    Waiting(int packets) {
      left = packets;
    }

    @Override
    public boolean receive() {
      if (left == 0) {
        return false;
      }
      left--;
      received++;
      return true;
    }

    @Override
    public void send(Packet packet) {}

    @Override
    public boolean isConnected() {
      return false;
    }

    @Override
    public void flush() {}

    @Override
    public void sleep(long nanos) {
      none.sleep(nanos);
    }

    @Override
    public void rest(long nanos) {
      none.rest(nanos);
    }

    @Override
    public void wake(Thread thread) {
      none.wake(thread);
    }

    @Override
    public int mtu() {
      return none.mtu();
    }

    @Override
    public boolean reaches(Gids own, InetAddress peer) {
      return false;
    }

    @Override
    public boolean isNear(InetAddress peer) {
      return false;
    }

    @Override
    public void join(Gids own, Gids group) {}

    @Override
    public void leave(Gids own, Gids group) {}

    @Override
    public void close() {}
  }

  /** Returns how many packets were received before a timer that had expired already. */
  private static int receivedBeforeTimer(int packets) throws Exception {
    Waiting link = new Waiting(packets);
    CompletableFuture<Integer> expired = new CompletableFuture<>();
    try (Engine engine = new Engine("engine", link, () -> {})) {
      Timer timer = new Timer(engine.timers(), () -> expired.complete(link.received));
      timer.start(engine.now());
      engine.start();
      return expired.get();
    }
  }

  /** A task that completes with the thread that ran it. */
  private static Task task(CompletableFuture<Thread> ran) {
    return new Task() {
      @Override
      public boolean run() {
        ran.complete(Thread.currentThread());
        return false;
      }

      @Override
      public void failed(Throwable t) {
        ran.completeExceptionally(t);
      }
    };
  }

  /** A second report would fail what was connected since the first. */
  @Test
  void aFailureIsReportedOnce() throws Exception {
    CompletableFuture<Void> reported = new CompletableFuture<>();
    AtomicInteger reports = new AtomicInteger();
    Runnable internalError =
        () -> {
          reports.incrementAndGet();
          reported.complete(null);
        };
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    try (Engine engine = new Engine("engine", new Waiting(0), internalError)) {
      Timer timer =
          new Timer(
              engine.timers(),
              () -> {
                throw new ArithmeticException("planted");
              });
      timer.start(engine.now());
      engine.start();
      reported.get();
      engine.request(task(ran)); // Is run after what the failure has left to do.
      ran.get();
    }
    assertEquals(1, reports.get());
  }

  /** A task that another thread is about to request, but does not get to. */
  @Test
  void theThreadsOwnRequestsDoNotWaitForThoseOfOtherThreads() throws Exception {
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    Task task = task(ran);
    assertTrue(task.request());
    try (Engine engine = new Engine("engine", new Waiting(0), () -> {})) {
      Timer timer = new Timer(engine.timers(), () -> engine.request(task));
      timer.start(engine.now());
      engine.start();
      assertEquals("engine", ran.get().getName());
    }
  }

  @Test
  void aThreadThatPollsSendsPackets() {
    Thread poller = Thread.currentThread();
    AtomicBoolean sentHere = new AtomicBoolean();
    try (SoftPair pair = SoftPair.connected()) {
      pair.network.trace(
          line -> sentHere.compareAndSet(false, Thread.currentThread().equals(poller)));
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, pair.b.region, 0, 8);
      SendList sends = new SendList(1, 1);
      sends.send(0).local(pair.a.region, 0, 8).signaled();
      Completions completions = new Completions(1);
      while (!sentHere.get()) {
        int _ = pair.b.queuePair.post(receives);
        int _ = pair.a.queuePair.post(sends);
        while (pair.a.completions.poll(completions) == 0) {
          Thread.onSpinWait();
        }
        while (pair.b.completions.poll(completions) == 0) {
          Thread.onSpinWait();
        }
        assertTrue(completions.isSuccess(0), completions.describe(0));
      }
    }
  }

  @Test
  void aPollerRunsWhatWasRequested() throws Exception {
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    Engine engine = new Engine("engine", new Waiting(0), () -> {}); // Its thread is not started.
    engine.request(task(ran));
    engine.turnOfPoller();
    assertEquals(Thread.currentThread(), ran.getNow(null));
  }

  @Test
  void aPollerRunsNothingInsideOfATurn() {
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    Engine engine = new Engine("engine", new Waiting(0), () -> {});
    engine.request(task(ran));
    engine.locked(engine::turnOfPoller);
    assertFalse(ran.isDone());
  }

  @Test
  void aPollerRunsNothingAfterTheEnd() {
    Waiting link = new Waiting(WAITING);
    Engine engine = new Engine("engine", link, () -> {});
    engine.close();
    engine.turnOfPoller();
    assertEquals(0, link.received);
  }

  @Test
  void theThreadTakesOverFromPollersThatCease() throws Exception {
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    try (Engine engine = new Engine("engine", new Waiting(0), () -> {})) {
      engine.start();
      for (int i = 0; i < 100_000; i++) {
        engine.turnOfPoller();
      }
      engine.request(task(ran));
      assertEquals("engine", ran.get().getName());
    }
  }

  @Test
  void theThreadRunsWhatAControlVerbRequested() throws Exception {
    try (Engine engine = new Engine("engine", new Waiting(0), () -> {})) {
      engine.start();
      for (int i = 0; i < 10_000; i++) {
        CompletableFuture<Thread> ran = new CompletableFuture<>();
        engine.locked(() -> engine.request(task(ran)));
        assertEquals("engine", ran.get().getName());
      }
    }
  }

  @Test
  void timersExpireAfterThePacketsThatWait() throws Exception {
    assertEquals(WAITING, receivedBeforeTimer(WAITING));
  }

  @Test
  void timersExpireAlthoughPacketsNeverEnd() throws Exception {
    assertEquals(64, receivedBeforeTimer(Integer.MAX_VALUE));
  }

  /** A link that fails while the lock is given back, and while packets are received. */
  @Test
  void theThreadAndTheLockSurviveFailuresOfTheLink() throws Exception {
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    CountDownLatch reported = new CountDownLatch(2);
    Waiting failing =
        new Waiting(0) {
          private boolean sent;
          private boolean received;

          @Override
          public void flush() {
            if (!sent) {
              sent = true;
              throw new IllegalStateException("planted in flush");
            }
          }

          @Override
          public boolean receive() {
            if (sent && reported.getCount() == 1 && !received) {
              received = true;
              throw new StackOverflowError("planted in receive");
            }
            return false;
          }
        };
    try (Engine engine = new Engine("engine", failing, reported::countDown)) {
      engine.start();
      reported.await();
      Await.until("the failure is reported", () -> !engine.isFailing());
      engine.locked(() -> engine.request(task(ran)));
      assertEquals("engine", ran.get().getName());
    }
  }
}
