import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;

/**
 * Send and receive, waiting for completion events instead of polling ({@code ibv_get_cq_event}).
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar SendReceiveEvents.java}
 */
public class SendReceiveEvents {
  public static void main(String[] args) throws InterruptedException {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionChannel channel = context.createCompletionChannel();
        CompletionQueue queue = context.completionQueue(16).channel(channel).create();
        QueuePair client = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        QueuePair server =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      client.connect(server.localAddress()); // between two hosts: exchange the addresses over TCP
      server.connect(client.localAddress());

      queue.requestNotification();
      MemoryRegion memory = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
      memory.memory().setString(0, "sent");

      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, memory, 2048, 64);
      if (server.post(receives) < receives.size()) {
        throw new IllegalStateException("the receive queue of " + server + " is full");
      }
      SendList sends = new SendList(1, 1);
      sends.send(0).local(memory, 0, 64).signaled();
      post(client, sends);

      Completions completions = new Completions(16);
      int completed = 0;
      while (completed < 2) { // one of the send, one of the receive
        CompletionQueue signaled = channel.take();
        signaled.requestNotification(); // before polling, or a completion may be missed
        int polled = signaled.poll(completions);
        for (int i = 0; i < polled; i++) {
          if (!completions.isSuccess(i)) {
            throw new IllegalStateException(completions.describe(i));
          }
        }
        completed += polled;
      }
      System.out.println(memory.memory().getString(2048));
    }
  }

  private static void post(QueuePair queuePair, SendList sends) {
    if (queuePair.post(sends) < sends.size()) {
      throw new IllegalStateException("the send queue of " + queuePair + " is full");
    }
  }
}
