import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.lang.foreign.ValueLayout;

/**
 * Atomic operations on 8 bytes of remote memory: fetch and add, compare and swap.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar Atomics.java}
 */
public class Atomics {
  public static void main(String[] args) {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair client = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        QueuePair server =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      client.connect(server.localAddress()); // between two hosts: exchange the addresses over TCP
      server.connect(client.localAddress());

      MemoryRegion counter =
          domain.allocateMemory(8, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC);
      MemoryRegion before = domain.allocateMemory(8, AccessFlag.LOCAL_WRITE);
      counter.memory().set(ValueLayout.JAVA_LONG, 0, 40);
      Completions completions = new Completions(1);
      SendList sends = new SendList(1, 1);

      sends
          .fetchAndAdd(0, 2)
          .local(before, 0, 8)
          .remote(counter.start(), counter.rkey())
          .signaled();
      post(client, sends);
      await(queue, completions);
      System.out.println(before.memory().get(ValueLayout.JAVA_LONG, 0) + " plus 2");

      sends
          .compareAndSwap(0, 42, 7)
          .local(before, 0, 8)
          .remote(counter.start(), counter.rkey())
          .signaled();
      post(client, sends);
      await(queue, completions);
      System.out.println(
          before.memory().get(ValueLayout.JAVA_LONG, 0)
              + " was replaced by "
              + counter.memory().get(ValueLayout.JAVA_LONG, 0));
    }
  }

  private static void post(QueuePair queuePair, SendList sends) {
    if (queuePair.post(sends) < sends.size()) {
      throw new IllegalStateException("the send queue of " + queuePair + " is full");
    }
  }

  private static void await(CompletionQueue queue, Completions completions) {
    while (queue.poll(completions) == 0) {
      Thread.onSpinWait();
    }
    if (!completions.isSuccess(0)) {
      throw new IllegalStateException(completions.describe(0));
    }
  }
}
