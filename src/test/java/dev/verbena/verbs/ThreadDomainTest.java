package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;

/** Queue pairs without locks: each thread has a thread domain of its own. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no thread domains")
class ThreadDomainTest {
  private static final int ROUNDS = 2_000;

  /** One thread's objects. Its queue pair is connected to itself. */
  private static final class Lane {
    final CompletionQueue queue;
    final QueuePair pair;
    final MemoryRegion region;
    final SendList sends = new SendList(4, 1);
    final Completions completions = new Completions(4);

    Lane(Context context, ProtectionDomain base) {
      ParentDomain domain =
          ParentDomain.builder(base).threadDomain(ThreadDomain.allocate(context)).create();
      queue = context.completionQueue(64).singleThreaded().parentDomain(domain).create();
      pair =
          QueuePair.builder(domain, QueuePairType.RC)
              .completions(queue)
              .capacity(QueuePairCapacity.of(16))
              .create();
      pair.connect(pair.localAddress());
      region = domain.allocateMemory(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      for (int i = 0; i < sends.size(); i++) {
        sends.write(i).local(region, 0, 8).remote(region.start() + 8L * (i + 1), region.rkey());
      }
      sends.signaled(sends.size() - 1);
    }

    /** Writes the number of the round to four places; returns the sum of what arrived last. */
    long run() {
      for (long round = 1; round <= ROUNDS; round++) {
        region.memory().set(ValueLayout.JAVA_LONG, 0, round);
        assertEquals(sends.size(), pair.post(sends));
        while (queue.poll(completions) == 0) {
          Thread.onSpinWait();
        }
        assertTrue(completions.isSuccess(0), () -> completions.describe(0));
        assertEquals(round, region.memory().get(ValueLayout.JAVA_LONG, 8));
      }
      long sum = 0;
      for (int i = 0; i < sends.size(); i++) {
        sum += region.memory().get(ValueLayout.JAVA_LONG, 8L * (i + 1));
      }
      return sum;
    }
  }

  @DeviceTest
  void eachThreadHasAQueuePairWithoutLocks() throws Exception {
    try (Context context = Rig.a().open()) {
      ProtectionDomain base = context.allocateProtectionDomain();
      Rig.orSkip(() -> ThreadDomain.allocate(context)).close();
      List<FutureTask<Long>> running = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        Lane lane = new Lane(context, base);
        FutureTask<Long> task = new FutureTask<>(lane::run);
        Thread.ofPlatform().start(task);
        running.add(task);
      }
      for (FutureTask<Long> task : running) {
        assertEquals(4L * ROUNDS, task.get());
      }
    }
  }

  @DeviceTest
  void aThreadDomainIsClosedAfterItsParentDomain() {
    try (Context context = Rig.a().open()) {
      ThreadDomain thread = Rig.orSkip(() -> ThreadDomain.allocate(context));
      ProtectionDomain base = context.allocateProtectionDomain();
      ParentDomain domain = ParentDomain.builder(base).threadDomain(thread).create();
      MemoryRegion region = domain.allocateMemory(64);
      thread.close(); // Closes what was created from it first.
      assertThrows(IllegalStateException.class, region::memory);
      assertThrows(IllegalStateException.class, () -> domain.allocateMemory(64));
      assertEquals(64, base.allocateMemory(64).length());
    }
  }
}
