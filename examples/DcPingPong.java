import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.mlx5.Mlx5Device;
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
import dev.verbena.verbs.SharedReceiveQueue;

/**
 * A message over DC, the dynamically connected transport of mlx5, and its echo.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar DcPingPong.java}
 */
public class DcPingPong {
  private static final long ACCESS_KEY = 0x5eed;

  public static void main(String[] args) {
    try (Side client = new Side(Device.list().getFirst());
        Side server = new Side(Device.list().getLast())) {
      client.memory.memory().setString(0, "ping");
      client.exchange(server);
      server.exchange(client);
      System.out.println(client.memory.memory().getString(2048));
    } catch (VerbsException e) {
      if (e.errno() != Errno.EOPNOTSUPP) {
        throw e;
      }
      System.out.println("DC needs a ConnectX of NVIDIA: " + e.getMessage());
    }
  }

  /** A device with an initiator and a target, which serve any number of others. */
  private static class Side implements AutoCloseable {
    private final Context context;
    private final ProtectionDomain domain;
    private final CompletionQueue sent;
    private final CompletionQueue received;
    private final SharedReceiveQueue receives;
    private final QueuePair initiator;
    private final QueuePair target;
    private final MemoryRegion memory;

    Side(Device device) {
      context = device.open();
      domain = context.allocateProtectionDomain();
      sent = context.createCompletionQueue(16);
      received = context.createCompletionQueue(16);
      receives = SharedReceiveQueue.create(domain, 16);
      Mlx5Device mlx5 = Mlx5Device.of(context);
      target =
          mlx5.dcTarget(domain, ACCESS_KEY)
              .receiveCompletions(received)
              .sharedReceiveQueue(receives)
              .create();
      target.activate();
      initiator = mlx5.dcInitiator(domain).sendCompletions(sent).create();
      initiator.activate();
      memory = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
    }

    /** Sends the begin of the memory to the second half of the memory of another side. */
    void exchange(Side to) {
      ReceiveList list = new ReceiveList(1, 1);
      list.local(0, to.memory, 2048, 64);
      QueuePairAddress address = to.target.localAddress(); // between two hosts: sent over TCP
      try (AddressHandle handle = domain.createAddressHandle(initiator.setup().pathTo(address))) {
        SendList sends = new SendList(1, 1);
        sends
            .send(0)
            .local(memory, 0, 64)
            .toTarget(handle, address.number(), ACCESS_KEY)
            .signaled();
        if (to.receives.post(list) < 1 || initiator.post(sends) < 1) {
          throw new IllegalStateException("a queue is full");
        }
        await(to.received);
        await(sent);
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
