import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;

/**
 * A shared receive queue: two queue pairs take their receive requests from it.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar SharedReceives.java}
 */
public class SharedReceives {
  public static void main(String[] args) {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        SharedReceiveQueue shared = SharedReceiveQueue.create(domain, 8)) {
      MemoryRegion memory = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
      ReceiveList receives = new ReceiveList(2, 1);
      for (int i = 0; i < receives.size(); i++) {
        receives.local(i, memory, 2048 + 64 * i, 64);
      }
      if (shared.post(receives) < receives.size()) {
        throw new IllegalStateException(shared + " is full");
      }
      for (String text : new String[] {"first", "second"}) {
        memory.memory().setString(0, text);
        sendTo(shared, queue, memory);
      }
      System.out.println(memory.memory().getString(2048) + ", " + memory.memory().getString(2112));
    }
  }

  /** Connects a queue pair with one that has the shared receive queue, and sends it a message. */
  private static void sendTo(
      SharedReceiveQueue shared, CompletionQueue queue, MemoryRegion memory) {
    ProtectionDomain domain = shared.domain();
    try (QueuePair client =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        QueuePair server =
            QueuePair.builder(domain, QueuePairType.RC)
                .completions(queue)
                .sharedReceiveQueue(shared)
                .create()) {
      client.connect(server.localAddress());
      server.connect(client.localAddress());
      SendList sends = new SendList(1, 1);
      sends.send(0).local(memory, 0, 64).signaled();
      post(client, sends);
      Completions completions = new Completions(1);
      await(queue, completions);
      await(queue, completions);
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
