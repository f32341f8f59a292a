import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.WindowBinding;
import java.util.Set;

/**
 * A memory window of type 1: remote access to 64 bytes of a region, until it is unbound.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar MemoryWindows.java}
 */
public class MemoryWindows {
  public static void main(String[] args) {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair client = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        QueuePair server =
            QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {
      client.connect(server.localAddress()); // between two hosts: exchange the addresses over TCP
      server.connect(client.localAddress());

      MemoryRegion source = domain.allocateMemory(64, AccessFlag.LOCAL_WRITE);
      MemoryRegion target = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
      source.memory().setString(0, "through a window");
      Completions completions = new Completions(1);

      MemoryWindow window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_1);
      window.bind(server, 1, new WindowBinding(target, 1024, 64, Set.of(AccessFlag.REMOTE_WRITE)));
      await(queue, completions);

      SendList sends = new SendList(1, 1);
      sends.write(0).local(source, 0, 64).remote(target.start() + 1024, window.rkey()).signaled();
      post(client, sends);
      await(queue, completions);
      System.out.println(target.memory().getString(1024));

      window.unbind(server, 2);
      await(queue, completions);
      window.close();
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
