package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.fake.FakeProvider;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Spinning, then sleeping, without missing a completion. */
class CompletionWaiterTest {
  private static final Duration LONG = Await.LIMIT;
  private static final Duration SHORT = Duration.ofMillis(50);

  private final Arena arena = Arena.ofShared();
  private final FakeProvider provider = new FakeProvider();
  private final Context context = Device.list(provider).getFirst().open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionChannel channel = context.createCompletionChannel();
  private final CompletionQueue queue = context.completionQueue(64).channel(channel).create();
  private final MemoryRegion region =
      domain.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
  private final QueuePair pair =
      QueuePair.builder(domain, QueuePairType.RC)
          .completions(queue)
          .capacity(QueuePairCapacity.of(16))
          .create();
  private final Completions completions = new Completions(4);
  private final SendList write = new SendList(1, 1);

  CompletionWaiterTest() {
    pair.connect(pair.localAddress()); // To itself.
    write.write(0).local(region, 0, 8).remote(region.start() + 8, region.rkey()).signaled();
  }

  @AfterEach
  void close() {
    context.close();
    provider.close();
    arena.close();
  }

  private void complete() {
    assertEquals(1, pair.post(write));
    provider.internals().settle();
  }

  /** Posts a request that completes at any time from now on. */
  private void post() {
    while (pair.post(write) == 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void pendingCompletionsAreReturnedImmediately() throws InterruptedException {
    for (Duration spin :
        new Duration[] {Duration.ZERO, SHORT, Duration.ofSeconds(Long.MAX_VALUE)}) {
      CompletionWaiter waiter = new CompletionWaiter(queue, spin);
      complete();
      complete();
      assertEquals(2, waiter.poll(completions, Duration.ZERO));
      complete();
      assertEquals(1, waiter.take(completions));
    }
  }

  @Test
  void timeoutReturnsZero() throws InterruptedException {
    for (Duration spin : new Duration[] {Duration.ZERO, SHORT, LONG}) {
      CompletionWaiter waiter = new CompletionWaiter(queue, spin);
      long start = System.nanoTime();
      assertEquals(0, waiter.poll(completions, SHORT));
      assertTrue(System.nanoTime() - start >= SHORT.toNanos());
      assertEquals(0, waiter.poll(completions, Duration.ofSeconds(-1)));
    }
  }

  @Test
  void lateCompletionWakesTheWaiter() throws Exception {
    CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ZERO);
    for (Thread.Builder kind : new Thread.Builder[] {Thread.ofPlatform(), Thread.ofVirtual()}) {
      FutureTask<Integer> waiting = new FutureTask<>(() -> waiter.take(completions));
      Await.waits(kind.start(waiting));
      complete();
      assertEquals(1, waiting.get());
    }
  }

  @Test
  void staleCompletionEventsAreSkipped() throws InterruptedException {
    CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ZERO);
    for (int i = 0; i < 3; i++) {
      assertEquals(0, waiter.poll(completions, Duration.ofMillis(1))); // Now it is armed.
      complete();
      assertEquals(1, queue.poll(completions));
      assertEquals(0, waiter.poll(completions, SHORT));
      complete();
      assertEquals(1, waiter.poll(completions, LONG));
    }
  }

  /** Loses a wake-up with some of many tries, if it can be lost at all. */
  @Test
  void noCompletionIsMissedWhileGoingToSleep() throws Exception {
    CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ZERO);
    int rounds = 2_000;
    AtomicInteger taken = new AtomicInteger();
    FutureTask<Integer> waiting =
        new FutureTask<>(
            () -> {
              while (taken.get() < rounds) {
                int n = waiter.poll(completions, LONG);
                assertTrue(n > 0, "asleep after " + taken);
                taken.addAndGet(n);
              }
              return taken.get();
            });
    Thread.ofPlatform().start(waiting);
    for (int i = 0; i < rounds && !waiting.isDone(); i++) {
      while (i - taken.get() > queue.capacity() / 2 && !waiting.isDone()) {
        Thread.onSpinWait(); // Or the queue would overrun.
      }
      post();
      if (i % 3 == 0) {
        Await.pass(Duration.ofNanos(i % 1000), "another moment of falling asleep");
      }
    }
    assertEquals(rounds, waiting.get());
  }

  @Test
  void anInterruptEndsSpinningAndSleeping() throws Exception {
    for (Duration spin : new Duration[] {Duration.ZERO, LONG}) {
      CompletionWaiter waiter = new CompletionWaiter(queue, spin);
      FutureTask<Integer> waiting = new FutureTask<>(() -> waiter.take(completions));
      Thread thread = Thread.ofPlatform().start(waiting);
      Await.pass(SHORT, "it spins, or sleeps");
      thread.interrupt();
      Exception e = assertThrows(ExecutionException.class, waiting::get);
      assertTrue(e.getCause() instanceof InterruptedException, e.toString());
    }
  }

  @Test
  void spinningVirtualThreadsLeaveTheirCarriersToOthers() throws Exception {
    int carriers =
        Integer.getInteger(
            "jdk.virtualThreadScheduler.parallelism", Runtime.getRuntime().availableProcessors());
    List<FutureTask<Integer>> spinning = new ArrayList<>();
    CountDownLatch begun = new CountDownLatch(carriers);
    for (int i = 0; i < carriers; i++) {
      CompletionChannel own = context.createCompletionChannel();
      CompletionQueue empty = context.completionQueue(4).channel(own).create();
      CompletionWaiter waiter = new CompletionWaiter(empty, LONG);
      spinning.add(
          new FutureTask<>(
              () -> {
                begun.countDown();
                return waiter.poll(new Completions(1), LONG);
              }));
    }
    List<Thread> threads = spinning.stream().map(Thread.ofVirtual()::start).toList();
    begun.await();
    FutureTask<Boolean> beside =
        new FutureTask<>(() -> spinning.stream().noneMatch(FutureTask::isDone));
    Thread.ofVirtual().start(beside);
    assertTrue(beside.get(), "it ran only when one of the others had ended");
    threads.forEach(Thread::interrupt);
    for (FutureTask<Integer> task : spinning) {
      Exception e = assertThrows(ExecutionException.class, task::get);
      assertTrue(e.getCause() instanceof InterruptedException, e.toString());
    }
  }

  @Test
  void closingTheQueueOrItsChannelEndsAWait() throws Exception {
    for (Thread.Builder kind : new Thread.Builder[] {Thread.ofPlatform(), Thread.ofVirtual()}) {
      CompletionChannel own = context.createCompletionChannel();
      for (Resource closed : new Resource[] {null, own}) {
        CompletionQueue of = context.completionQueue(4).channel(own).create();
        CompletionWaiter waiter = new CompletionWaiter(of, SHORT);
        FutureTask<Integer> waiting = new FutureTask<>(() -> waiter.take(completions));
        Await.waits(kind.start(waiting));
        (closed == null ? of : closed).close();
        Exception e = assertThrows(ExecutionException.class, waiting::get);
        assertTrue(e.getCause() instanceof IllegalStateException, e.toString());
        assertTrue(e.getCause().getMessage().contains("is closed"), e.toString());
      }
    }
  }

  @Test
  void closingRacesWithFallingAsleep() throws Exception {
    for (int i = 0; i < 200; i++) {
      CompletionChannel own = context.createCompletionChannel();
      CompletionQueue of = context.completionQueue(4).channel(own).create();
      CompletionWaiter waiter = new CompletionWaiter(of, Duration.ZERO);
      FutureTask<Integer> waiting = new FutureTask<>(() -> waiter.take(completions));
      Thread.ofPlatform().start(waiting);
      Await.pass(Duration.ofNanos(i * 1000L), "another moment of falling asleep");
      of.close();
      Exception e = assertThrows(ExecutionException.class, waiting::get);
      assertTrue(e.getCause() instanceof IllegalStateException, e.toString());
      own.close();
    }
  }

  @Test
  void requiresAChannel() {
    CompletionQueue silent = context.createCompletionQueue(4);
    assertThrows(IllegalArgumentException.class, () -> new CompletionWaiter(silent, SHORT));
    assertThrows(
        IllegalArgumentException.class, () -> new CompletionWaiter(queue, Duration.ofNanos(-1)));
  }

  @Test
  void queuesOfOneChannelWakeTheirOwnWaiters() throws Exception {
    CompletionQueue other = context.completionQueue(8).channel(channel).create();
    QueuePair loop =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(other)
            .capacity(QueuePairCapacity.of(4))
            .create();
    loop.connect(loop.localAddress());
    CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ZERO);
    CompletionWaiter ofOther = new CompletionWaiter(other, Duration.ZERO);
    FutureTask<Integer> first = new FutureTask<>(() -> waiter.take(completions));
    Await.waits(Thread.ofPlatform().start(first));
    FutureTask<Integer> second = new FutureTask<>(() -> ofOther.take(new Completions(4)));
    Await.waits(Thread.ofPlatform().start(second));
    assertEquals(1, loop.post(write)); // Its event is read by the first thread.
    provider.internals().settle();
    assertEquals(1, second.get());
    assertFalse(first.isDone());
    complete();
    assertEquals(1, first.get());
  }

  /** After the waits of the channel were ended, which another thread begins again. */
  @Test
  void aWaitThatBeginsWhenItsQueueIsClosedEnds() throws Exception {
    CompletionQueue closed = context.completionQueue(8).channel(channel).create();
    CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ZERO);
    FutureTask<Integer> reading = new FutureTask<>(() -> waiter.take(completions));
    Await.waits(Thread.ofPlatform().start(reading));
    long seen = closed.events();
    closed.close();
    FutureTask<Void> late =
        new FutureTask<>(
            () -> {
              channel.await(closed, seen, Long.MAX_VALUE);
              return null;
            });
    Thread.ofPlatform().daemon().start(late);
    Await.until("the end of the wait", late::isDone);
    var end = assertThrows(ExecutionException.class, late::get);
    assertInstanceOf(IllegalStateException.class, end.getCause());
    complete();
    assertEquals(1, reading.get());
  }

  /** If the wake-up of a thread is lost, it waits for ever. */
  @Test
  void eachCompletionIsReturnedToOneOfTheThreadsThatWait() throws Exception {
    CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ZERO);
    int rounds = 500;
    List<FutureTask<List<Long>>> taking = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      taking.add(
          new FutureTask<>(
              () -> {
                Completions one = new Completions(1);
                List<Long> ids = new ArrayList<>();
                while (ids.size() < rounds) {
                  assertEquals(1, waiter.take(one));
                  ids.add(one.id(0));
                }
                return ids;
              }));
    }
    taking.forEach(Thread.ofPlatform()::start);
    Set<Long> missing = new HashSet<>();
    for (int id = 0; id < taking.size() * rounds; id++) {
      missing.add((long) id);
      write.id(0, id);
      post();
    }
    for (FutureTask<List<Long>> task : taking) {
      for (long id : task.get()) {
        assertTrue(missing.remove(id), "completion " + id + " was returned twice");
      }
    }
  }
}
