package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.values.QueuePairType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Many threads on one object, and objects that another thread closed. */
class ThreadsTest {
  private static final int THREADS = 8;
  private static final int EACH = 50;

  @DeviceTest
  void threadsShareAQueuePair() throws Exception {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      AtomicInteger done = new AtomicInteger();
      List<Future<?>> results = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        int slot = t;
        results.add(threads.submit(() -> write(pair, slot, done)));
      }
      for (Future<?> result : results) {
        result.get();
      }
      assertEquals(THREADS * EACH, done.get());
      assertEquals(0, pair.a.completionQueue.poll(new Completions(1)));
    }
  }

  /** Posts a write, then takes a completion, maybe another thread's; and so on. */
  private static void write(Pair pair, int slot, AtomicInteger done) {
    MemoryRegion target = pair.b.memory;
    SendList list = new SendList(1, 1);
    list.write(0)
        .local(pair.a.memory, slot * 8L, 8)
        .remote(target.start() + slot * 8L, target.rkey())
        .signaled();
    Completions completions = new Completions(1);
    for (int i = 0; i < EACH; i++) {
      while (pair.a.queuePair.post(list) == 0) {
        Thread.onSpinWait();
      }
      Await.until("a completion", () -> pair.a.completionQueue.poll(completions) == 1);
      assertTrue(completions.isSuccess(0), () -> completions.describe(0));
      done.incrementAndGet();
    }
  }

  @DeviceTest
  void aClosedObjectThrows() throws Exception {
    Pair pair = Pair.connected(QueuePairType.RC);
    // The rule of the house: nobody is inside a call on an object while it is closed.
    ReadWriteLock inside = new ReentrantReadWriteLock(true);
    CountDownLatch busy = new CountDownLatch(THREADS * EACH);
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      List<Future<?>> ends = new ArrayList<>();
      for (Runnable use : uses(pair)) {
        ends.add(threads.submit(() -> useForEver(use, inside.readLock(), busy)));
      }
      busy.await();
      inside.writeLock().lock();
      try {
        pair.close();
      } finally {
        inside.writeLock().unlock();
      }
      for (Future<?> end : ends) {
        ExecutionException e = assertThrows(ExecutionException.class, end::get);
        assertInstanceOf(IllegalStateException.class, e.getCause());
        assertTrue(e.getCause().getMessage().endsWith("is closed"), e.getCause().getMessage());
      }
    }
  }

  @DeviceTest
  void queueIsClosedDuringPostAndPoll() throws Exception {
    for (int round = 0; round < 20; round++) {
      try (Pair pair = Pair.connected(QueuePairType.RC);
          ExecutorService threads = Executors.newCachedThreadPool()) {
        ReceiveList receives = new ReceiveList(1, 1);
        SendList sends = new SendList(1, 1);
        sends.send(0);
        Completions completions = new Completions(1);
        CountDownLatch busy = new CountDownLatch(3 * EACH);
        List<Future<?>> ends = new ArrayList<>();
        ends.add(
            threads.submit(
                () ->
                    withoutEnd(
                        () -> {
                          int _ = pair.a.queuePair.post(sends);
                        },
                        busy)));
        ends.add(
            threads.submit(
                () ->
                    withoutEnd(
                        () -> {
                          int _ = pair.a.queuePair.post(receives);
                        },
                        busy)));
        ends.add(
            threads.submit(() -> withoutEnd(() -> pair.a.completionQueue.poll(completions), busy)));
        busy.await();
        pair.a.completionQueue.close(); // After its queue pair.
        for (Future<?> end : ends) {
          ExecutionException e = assertThrows(ExecutionException.class, end::get);
          assertInstanceOf(IllegalStateException.class, e.getCause());
          assertTrue(e.getCause().getMessage().endsWith("is closed"), e.getCause().getMessage());
        }
      }
    }
  }

  private static void withoutEnd(Runnable use, CountDownLatch busy) {
    while (true) {
      use.run();
      busy.countDown();
    }
  }

  /** What each thread does, with memory of its own. */
  private static List<Runnable> uses(Pair pair) {
    List<Runnable> uses = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      SendList list = new SendList(1, 1);
      list.write(0)
          .local(pair.a.memory, t * 8L, 8)
          .remote(pair.b.memory.start() + t * 8L, pair.b.memory.rkey());
      Completions completions = new Completions(1);
      List<Runnable> kinds =
          List.of(
              () -> {
                int _ = pair.a.queuePair.post(list);
              },
              () -> pair.a.completionQueue.poll(completions),
              pair.a.queuePair::state,
              pair.a.context::deviceAttributes);
      uses.add(kinds.get(t % kinds.size()));
    }
    return uses;
  }

  private static void useForEver(Runnable use, Lock inside, CountDownLatch busy) {
    while (true) {
      inside.lock();
      try {
        use.run();
      } finally {
        inside.unlock();
      }
      busy.countDown();
    }
  }

  @DeviceTest
  void manyThreadsClose() throws Exception {
    Pair pair = Pair.connected(QueuePairType.RC);
    CyclicBarrier together = new CyclicBarrier(THREADS);
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      List<Future<?>> results = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        results.add(
            threads.submit(
                () -> {
                  together.await();
                  pair.a.context.close();
                  assertFalse(pair.a.context.isOpen() || pair.a.queuePair.isOpen());
                  return null;
                }));
      }
      for (Future<?> result : results) {
        result.get();
      }
    }
    pair.close();
  }
}
