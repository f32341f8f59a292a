import dev.verbena.util.QueuePairMap;
import dev.verbena.util.ReceiveRing;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
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
import java.lang.foreign.ValueLayout;

/**
 * 64 queue pairs with one completion queue, for sends and receives, and one shared receive queue: a
 * map has the object of the program for each queue pair.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar ManyQueuePairs.java}
 */
public class ManyQueuePairs {
  private static final int PAIRS = 64;
  private static final long RECEIVES = 1L << 32; // the ids of receives; those of sends are smaller

  /** What the program keeps for a queue pair. */
  private static final class Client {
    int sum;
  }

  public static void main(String[] args) throws Exception {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.completionQueue(8 * PAIRS).create();
        SharedReceiveQueue shared = SharedReceiveQueue.builder(domain, PAIRS).create()) {
      MemoryRegion memory = domain.allocateMemory(8 * 2 * PAIRS, AccessFlag.LOCAL_WRITE);
      ReceiveList receives = new ReceiveList(PAIRS, 1);
      SendList sends = new SendList(PAIRS, 1);
      QueuePairMap<Client> clients = new QueuePairMap<>();
      QueuePair[] senders = new QueuePair[PAIRS];
      QueuePair[] receivers = new QueuePair[PAIRS];
      for (int i = 0; i < PAIRS; i++) {
        receives.local(i, memory, 8 * i, 8);
        QueuePair receiver = queuePair(domain, queue, shared);
        receivers[i] = receiver;
        senders[i] = queuePair(domain, queue, shared);
        senders[i].connect(receiver.localAddress());
        receiver.connect(senders[i].localAddress());
        clients.put(receiver, new Client());
        memory.memory().setAtIndex(ValueLayout.JAVA_INT, 2 * (PAIRS + i), i);
        sends.send(i).id(i).local(memory, 8 * (PAIRS + i), 4).signaled();
      }
      ReceiveRing ring = new ReceiveRing(shared, receives, RECEIVES);
      ring.start();
      for (int i = 0; i < PAIRS; i++) {
        if (senders[i].post(sends, i, 1) == 0) {
          throw new IllegalStateException("full: " + senders[i]);
        }
      }
      Completions completions = new Completions(16);
      int received = 0;
      int sent = 0;
      int sum = 0;
      while (received < PAIRS || sent < PAIRS) {
        int count = queue.poll(completions);
        received +=
            ring.handle(
                completions,
                (batch, i, request) -> {
                  Client client = clients.get(batch.queuePairNumber(i));
                  client.sum += memory.memory().getAtIndex(ValueLayout.JAVA_INT, 2 * request);
                  return true;
                });
        for (int i = 0; i < count; i++) {
          sent += ring.owns(completions, i) ? 0 : 1; // completions of sends
        }
      }
      for (QueuePair receiver : receivers) {
        sum += clients.get(receiver.number()).sum;
      }
      System.out.println(clients.size() + " clients, sum " + sum);
    }
  }

  private static QueuePair queuePair(
      ProtectionDomain domain, CompletionQueue queue, SharedReceiveQueue shared) {
    return QueuePair.builder(domain, QueuePairType.RC)
        .completions(queue)
        .sharedReceiveQueue(shared)
        .capacity(QueuePairCapacity.of(4))
        .create();
  }
}
