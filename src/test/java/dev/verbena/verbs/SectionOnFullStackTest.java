package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.Need.JVMS;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.raw.ibv_qp;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.util.concurrent.FutureTask;
import org.opentest4j.TestAbortedException;

/** A full stack of a thread that posts by {@code ibv_wr_*}: it can end what it has begun. */
@Needs(JVMS)
@On(
    value = {SOFTWARE, MLX5},
    reason = "400 full stacks of requests take minutes on an emulated kernel")
class SectionOnFullStackTest {
  @DeviceTest
  void postingIsEnded() {
    try (Pair pair = new Pair()) {
      QueuePairBuilder builder = pair.a.builder(QueuePairType.RC);
      Rig.orSkip(() -> builder.sendOperations(SendOperation.RDMA_WRITE).create());
    }
    String output =
        new ForkedJvm()
            .with("-Xss256k")
            .withNativeAccess()
            .withJarOf(ibv_qp.class)
            .withJarOf(DeviceTest.class)
            .withJarOf(TestAbortedException.class)
            .run(Overflowing.class)
            .succeeded();
    assertEquals("ended", output.strip().lines().toList().getLast());
  }

  /** Posts at every depth of the stack. */
  static final class Overflowing {
    private static final int ROUNDS = 400;

    private final QueuePair queuePair;
    private final MemoryRegion region;

    private Overflowing(QueuePair queuePair, MemoryRegion region) {
      this.queuePair = queuePair;
      this.region = region;
    }

    public static void main(String[] args) throws Exception {
      try (Context context = Rig.a().open();
          ProtectionDomain domain = context.allocateProtectionDomain();
          CompletionQueue queue = context.createCompletionQueue(4096);
          MemoryRegion region =
              domain.allocateMemory(8, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
          QueuePair queuePair =
              QueuePair.builder(domain, QueuePairType.RC)
                  .completions(queue)
                  .capacity(QueuePairCapacity.of(4000))
                  .sendOperations(SendOperation.RDMA_WRITE)
                  .create()) {
        queuePair.connect(queuePair.localAddress());
        Overflowing overflowing = new Overflowing(queuePair, region);
        for (int i = 0; i < ROUNDS; i++) {
          int round = i;
          FutureTask<Void> task = new FutureTask<>(() -> overflowing.overflow(round), null);
          Thread.ofPlatform().start(task);
          task.get();
          if (round % 20 == 0) { // The queue is full by then.
            queuePair.reset();
            queuePair.connect(queuePair.localAddress());
          }
        }
      }
      System.out.println("ended");
    }

    private void overflow(int round) {
      try {
        descend(round % 50);
        throw new AssertionError("no overflow");
      } catch (StackOverflowError e) {
        queuePair.startPosting().close(); // Throws if the last one is still open.
      }
    }

    /** Begins at another depth in each round. */
    private void descend(int levels) {
      if (levels > 0) {
        descend(levels - 1);
      } else {
        post();
      }
    }

    @SuppressWarnings("InfiniteRecursion") // Until the stack is full.
    private void post() {
      try (Posting posting = queuePair.startPosting()) {
        // Not signaled: nobody polls, and the completion queue would overrun.
        posting.write(region.start(), region.rkey()).local(region, 0, 8).id(3);
        int _ = posting.complete();
      }
      post();
    }
  }
}
