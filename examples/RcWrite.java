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

/**
 * RDMA write: one queue pair writes to the memory of another ({@code IBV_WR_RDMA_WRITE_WITH_IMM}).
 * Without immediate data the receiver has no completion, and has to learn in another way when the
 * data are in its memory.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar RcWrite.java}
 */
public class RcWrite {
  public static void main(String[] args) {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair client = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        QueuePair server =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      client.connect(server.localAddress()); // between two hosts: exchange the addresses over TCP
      server.connect(client.localAddress());

      MemoryRegion source = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
      MemoryRegion target =
          domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      source.memory().setString(0, "written");

      if (server.post(new ReceiveList(1, 1)) == 0) { // for the immediate data
        throw new IllegalStateException("the receive queue of " + server + " is full");
      }
      SendList sends = new SendList(1, 1);
      sends
          .writeWithImmediate(0, 1)
          .local(source, 0, 64)
          .remote(target.start(), target.rkey())
          .signaled();
      post(client, sends);
      await(
          queue, new Completions(1)); // of the sender or the receiver: the order is not determined
      await(queue, new Completions(1));
      System.out.println(target.memory().getString(0));
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
