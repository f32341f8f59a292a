package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;

/** Many threads on one object, and objects that another thread closed (P-24). */
class ThreadsTest {
  private static final int THREADS = 8;
  private static final int EACH = 50;

  @DeviceTest
  @DisplayName("S1-05, S3-F28: threads share a queue pair and its queue, and nothing is lost")
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
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    for (int i = 0; i < EACH; i++) {
      while (pair.a.queuePair.post(list) == 0) {
        Thread.onSpinWait();
      }
      while (pair.a.completionQueue.poll(completions) == 0) {
        assertTrue(System.nanoTime() < end, "no completion");
        Thread.onSpinWait();
      }
      assertTrue(completions.isSuccess(0), () -> completions.describe(0));
      done.incrementAndGet();
    }
  }

  @DeviceTest
  @DisplayName("S1-05: what one thread closed throws for all others, and crashes nobody")
  void aClosedObjectThrows() throws Exception {
    Pair pair = Pair.connected(QueuePairType.RC);
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, 8);
    pair.a.queuePair.post(list);
    Thread closer = Thread.ofPlatform().start(pair::close);
    closer.join();
    assertThrows(IllegalStateException.class, () -> pair.a.queuePair.post(list));
    assertThrows(
        IllegalStateException.class, () -> pair.a.completionQueue.poll(new Completions(1)));
    assertThrows(IllegalStateException.class, pair.a.queuePair::state);
    assertThrows(IllegalStateException.class, pair.a.context::deviceAttributes);
  }
}
