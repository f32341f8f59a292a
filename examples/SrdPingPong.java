import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.efa.EfaDevice;
import dev.verbena.values.AccessFlag;
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
 * A message over SRD, the transport service of Amazon's EFA, and its echo.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar SrdPingPong.java}
 */
public class SrdPingPong {
  public static void main(String[] args) {
    try (Side client = new Side(Device.list().getFirst());
        Side server = new Side(Device.list().getLast())) {
      client.memory.memory().setString(0, "ping");
      client.exchange(server);
      server.exchange(client);
      System.out.println(client.memory.memory().getString(2048));
    }
  }

  /** A device with one SRD queue pair, which could exchange messages with any number of others. */
  private static class Side implements AutoCloseable {
    private final Context context;
    private final ProtectionDomain domain;
    private final CompletionQueue completions;
    private final QueuePair queuePair;
    private final MemoryRegion memory;

    Side(Device device) {
      context = device.open();
      domain = context.allocateProtectionDomain();
      completions = context.createCompletionQueue(16);
      queuePair = EfaDevice.of(context).queuePair(domain).completions(completions).create();
      queuePair.activate();
      memory = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
    }

    /** Sends the begin of the memory to the begin of the memory of another side. */
    void exchange(Side to) {
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, to.memory, 2048, 64);
      QueuePairAddress address = to.queuePair.localAddress(); // between two hosts: sent over TCP
      AddressVector route = AddressVector.global(1, new GlobalRoute(address.gid(), 0));
      try (AddressHandle handle = domain.createAddressHandle(route)) {
        SendList sends = new SendList(1, 1);
        sends.send(0).local(memory, 0, 64).to(handle, address.number(), address.queueKey());
        if (to.queuePair.post(receives) < 1 || queuePair.post(sends) < 1) {
          throw new IllegalStateException("a queue is full");
        }
        await(to.completions);
        await(completions);
      }
      to.memory.memory().asSlice(0, 64).copyFrom(to.memory.memory().asSlice(2048, 64));
    }

    private static void await(CompletionQueue queue) {
      Completions completion = new Completions(1);
      while (queue.poll(completion) == 0) {
        Thread.onSpinWait();
      }
      if (!completion.isSuccess(0)) {
        throw new IllegalStateException(completion.describe(0));
      }
    }

    @Override
    public void close() {
      context.close();
    }
  }
}
