package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** Threads that wait for completions, one of which reads for all. */
@InSimulation
@EnabledForJreRange(minVersion = 24)
class SharedReadingTest {
  private final SoftNetwork network = SoftNetwork.create();
  private final Context context = network.addDevice("soft0").open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionChannel channel = context.createCompletionChannel();
  private final CompletionQueue queue = context.completionQueue(32).channel(channel).create();
  private final MemoryRegion region =
      domain.allocateMemory(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
  private final QueuePair pair =
      QueuePair.builder(domain, QueuePairType.RC)
          .completions(queue)
          .capacity(QueuePairCapacity.of(16))
          .create();
  private final SendList write = new SendList(1, 1);
  private final AtomicInteger completed = new AtomicInteger();
  private final AtomicReference<@Nullable Thread> reader = new AtomicReference<>();
  private final SharedReading reading =
      new SharedReading(new CompletionWaiter(queue, Duration.ZERO), 4, this::read);
  private final List<Thread> threads = new ArrayList<>();

  SharedReadingTest() {
    pair.connect(pair.localAddress()); // To itself.
    write.write(0).local(region, 0, 8).remote(region.start() + 8, region.rkey()).signaled();
  }

  @AfterEach
  void close() {
    context.close();
    network.close();
  }

  private void read(Completions completions) {
    completed.addAndGet(completions.count());
    reader.set(Thread.currentThread());
  }

  /** Waits for a number of completions, after the threads before do. */
  private void await(int number) throws InterruptedException {
    Thread thread =
        Time.daemon()
            .start(
                () -> {
                  try {
                    assertTrue(
                        reading.await(() -> completed.get() >= number, Await.LIMIT.toNanos()));
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                });
    threads.add(thread);
    Time.sleep(1000);
  }

  /** The thread that is woken to read has what it waits for, and another one reads. */
  @Test
  void oneReadsWhileThreadsWait() throws Exception {
    await(1);
    await(1);
    await(2);
    assertEquals(1, pair.post(write));
    threads.get(0).join();
    assertEquals(threads.get(0), reader.get());
    threads.get(1).join();
    long start = Time.now();
    assertEquals(1, pair.post(write));
    threads.get(2).join();
    assertEquals(threads.get(2), reader.get());
    long nanos = Time.now() - start;
    assertTrue(nanos < SharedReading.SLICE_NANOS / 10, "it read after " + nanos + " ns");
  }
}
