import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.GlobalRoutingHeader;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
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
 * An unreliable datagram, addressed by an address handle, a queue pair number and a Q_Key.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar UdDatagram.java}
 */
public class UdDatagram {
  private static final int GRH = GlobalRoutingHeader.SIZE; // a received datagram begins with one

  public static void main(String[] args) {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair client = QueuePair.builder(domain, QueuePairType.UD).completions(queue).create();
        QueuePair server =
            QueuePair.builder(domain, QueuePairType.UD).completions(queue).create()) {
      client.activate();
      server.activate();
      QueuePairAddress address = server.localAddress(); // between two hosts: sent over TCP
      MemoryRegion memory = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
      memory.memory().setString(0, "datagram");

      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, memory, 2048, GRH + 64);
      if (server.post(receives) < receives.size()) {
        throw new IllegalStateException("the receive queue of " + server + " is full");
      }
      int source = context.port(1).chooseGid().index();
      AddressVector route = AddressVector.global(1, new GlobalRoute(address.gid(), source));
      try (AddressHandle handle = domain.createAddressHandle(route)) {
        SendList sends = new SendList(1, 1);
        sends
            .send(0)
            .local(memory, 0, 64)
            .to(handle, address.number(), address.queueKey())
            .signaled();
        post(client, sends);
        Completions completions = new Completions(1);
        await(queue, completions);
        await(queue, completions);
      }
      System.out.println(memory.memory().getString(2048 + GRH));
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
