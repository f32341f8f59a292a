import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;

/**
 * An extended completion queue: each completion is read field by field ({@code ibv_start_poll}).
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar ExtendedQueue.java}
 */
public class ExtendedQueue {
  public static void main(String[] args) {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        ExtendedCompletionQueue queue =
            context.completionQueue(16).createExtended(CompletionField.QP_NUM);
        QueuePair client = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        QueuePair server =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      client.connect(server.localAddress()); // between two hosts: exchange the addresses over TCP
      server.connect(client.localAddress());

      MemoryRegion memory =
          domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
      memory.memory().setString(2048, "read");
      SendList sends = new SendList(1, 1);
      sends.read(0).local(memory, 0, 64).remote(memory.start() + 2048, memory.rkey()).signaled();
      post(client, sends);

      boolean polled = false;
      while (!polled) {
        try (CompletionCursor cursor = queue.startPolling()) {
          if (cursor.next()) {
            polled = true;
            if (!cursor.isSuccess()) {
              throw new IllegalStateException("status " + cursor.status());
            }
            System.out.println(
                cursor.opcode()
                    + (cursor.queuePairNumber() == client.number() ? " of the client" : ""));
          }
        }
      }
      System.out.println(memory.memory().getString(0));
    }
  }

  private static void post(QueuePair queuePair, SendList sends) {
    if (queuePair.post(sends) < sends.size()) {
      throw new IllegalStateException("the send queue of " + queuePair + " is full");
    }
  }
}
