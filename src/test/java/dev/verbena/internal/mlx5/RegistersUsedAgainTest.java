package dev.verbena.internal.mlx5;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Doorbell registers of queue pairs that threads create, use and close: each write arrives. */
@On(MLX5)
class RegistersUsedAgainTest {
  private static final int THREADS = 4;
  private static final int ROUNDS = 80;
  private static final int MOST_QUEUE_PAIRS = 30;
  private static final int LISTS = 60;
  private static final int REQUESTS = 4;
  private static final int INLINE = 200;
  private static final int TARGETS = 2048;

  /** What one thread does. */
  private static final class Writer {
    private final Context context;
    private final ProtectionDomain domain;
    private final CompletionQueue receives;
    private final Random random;
    private final MemoryRegion region;
    private final SendList sends = new SendList(REQUESTS, 1, INLINE);
    private final Completions completions = new Completions(REQUESTS);
    private long value;

    Writer(Context context, ProtectionDomain domain, CompletionQueue receives, int number) {
      this.context = context;
      this.domain = domain;
      this.receives = receives;
      this.random = new Random(number);
      this.region =
          domain.allocateMemory(2 * TARGETS, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      this.value = (long) number << 56;
    }

    void run() {
      for (int i = 0; i < ROUNDS; i++) {
        try (CompletionQueue queue = context.completionQueue(64).direct().create()) {
          List<QueuePair> all = new ArrayList<>();
          for (int count = 1 + random.nextInt(MOST_QUEUE_PAIRS); count > 0; count--) {
            all.add(queuePair(queue));
          }
          for (int list = 0; list < LISTS; list++) {
            write(all.get(random.nextInt(all.size())), queue);
          }
          Collections.shuffle(all, random);
          all.forEach(QueuePair::close);
        }
      }
    }

    private QueuePair queuePair(CompletionQueue queue) {
      QueuePair made =
          QueuePair.builder(domain, QueuePairType.RC)
              .sendCompletions(queue)
              .receiveCompletions(receives)
              .capacity(QueuePairCapacity.of(2 * REQUESTS).withMaxInlineData(INLINE))
              .create();
      made.connect(made.localAddress());
      return made;
    }

    /** Writes to places in turn, mostly by a single request, which is copied. */
    private void write(QueuePair queuePair, CompletionQueue queue) {
      int count = random.nextInt(3) > 0 ? 1 : 1 + random.nextInt(REQUESTS);
      for (int i = 0; i < count; i++) {
        prepare(i, ++value);
      }
      assertEquals(count, queuePair.post(sends, 0, count));
      for (int done = 0, tries = 0; done < count; tries++) {
        int polled = queue.poll(completions);
        for (int i = 0; i < polled; i++) {
          assertTrue(completions.isSuccess(i), completions.describe(i));
        }
        done += polled;
        Await.spin(tries);
      }
      for (int i = 0; i < count; i++) {
        long written = region.memory().get(ValueLayout.JAVA_LONG, TARGETS + 8L * i);
        assertEquals(Long.toHexString(value - count + 1 + i), Long.toHexString(written));
      }
    }

    private void prepare(int index, long data) {
      long target = region.start() + TARGETS + 8L * index;
      if (random.nextBoolean()) {
        sends.write(index).inline(8).remote(target, region.rkey()).signaled();
        sends.inlineData(index).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, data);
      } else {
        region.memory().set(ValueLayout.JAVA_LONG, 8L * index, data);
        sends.write(index).local(region, 8L * index, 8).remote(target, region.rkey()).signaled();
      }
    }
  }

  @DeviceTest
  void everyWriteArrives() throws Exception {
    try (Context context = Rig.a().open();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      ProtectionDomain domain = context.allocateProtectionDomain();
      CompletionQueue receives = context.completionQueue(4096).direct().create();
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        Writer writer = new Writer(context, domain, receives, i);
        running.add(threads.submit(writer::run));
      }
      for (Future<?> future : running) {
        future.get();
      }
    }
  }
}
