package dev.verbena.verbs;

import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;

/**
 * Completion queue entries of 128 bytes, which only libmlx5 reads: the environment selects them for
 * the whole process. Closes a queue pair whose completions are in the queue.
 */
final class LargeEntries {
  private LargeEntries() {}

  public static void main(String[] arguments) {
    try (Context context = Device.named("mlx5_0").open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        Arena arena = Arena.ofShared();
        MemoryRegion region =
            domain.registerMemory(
                arena.allocate(4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        CompletionQueue queue = context.completionQueue(64).create();
        QueuePair peer = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      QueuePair closed =
          QueuePair.builder(domain, QueuePairType.RC)
              .completions(queue)
              .capacity(QueuePairCapacity.of(4))
              .create();
      require(!queue.isDirect() && !closed.isDirect(), "the provider polls");
      closed.connect(peer.localAddress());
      peer.connect(closed.localAddress());
      SendList sends = new SendList(2, 1);
      for (int i = 0; i < 2; i++) {
        sends.write(i).local(region, 0, 8).remote(region.start() + 8L * (i + 1), region.rkey());
        sends.signaled(i);
      }
      region.memory().set(ValueLayout.JAVA_LONG, 0, 7);
      require(closed.post(sends) == 2, "posted");
      Completions completions = new Completions(4);
      Await.until("the first completion", () -> queue.poll(completions, 1) == 1);
      Await.until("the second write", () -> region.memory().get(ValueLayout.JAVA_LONG, 16) == 7);
      closed.close();
      require(queue.poll(completions) == 0, "the completions of a closed queue pair are removed");
      System.out.println(context.directObstacle().orElseThrow());
    }
  }

  private static void require(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError("not so: " + what);
    }
  }
}
