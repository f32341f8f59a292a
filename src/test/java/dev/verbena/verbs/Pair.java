package dev.verbena.verbs;

import dev.verbena.testing.Rig;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.time.Instant;

/**
 * Two queue pairs on the two devices of the rig, each with a registered page, as tests want them.
 */
final class Pair implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  final Side a;
  final Side b;
  private final Arena arena = Arena.ofShared();

  /** One end. */
  static final class Side {
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue completionQueue;
    final MemoryRegion memory;
    QueuePair queuePair;

    private Side(Device device, Arena arena) {
      context = device.open();
      domain = context.allocateProtectionDomain();
      completionQueue = context.createCompletionQueue(64);
      memory =
          domain.registerMemory(
              arena.allocate(4096, 4096),
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.REMOTE_ATOMIC);
    }

    QueuePair.Builder builder(QueuePairType type) {
      return domain
          .queuePair(type)
          .completions(completionQueue)
          .capacity(new QueuePairCapacity(16, 16, 2, 2, 0));
    }

    void receive(long id) {
      ReceiveList list = new ReceiveList(1, 1);
      list.id(0, id);
      list.local(0, memory, 0, memory.length());
      if (queuePair.post(list) != 1) {
        throw new AssertionError("a receive was not taken");
      }
    }

    /** Waits for one completion. */
    Completions completion() {
      Completions completions = new Completions(1);
      Instant end = Instant.now().plus(PATIENCE);
      while (completionQueue.poll(completions) == 0) {
        if (Instant.now().isAfter(end)) {
          throw new AssertionError("no completion on " + completionQueue);
        }
        Thread.onSpinWait();
      }
      return completions;
    }
  }

  /** Opens both devices. */
  Pair() {
    a = new Side(Rig.a(), arena);
    b = new Side(Rig.b(), arena);
  }

  /** Makes both queue pairs. */
  Pair(QueuePairType type) {
    this();
    a.queuePair = a.builder(type).create();
    b.queuePair = b.builder(type).create();
  }

  /** Makes both queue pairs and connects them. */
  static Pair connected(QueuePairType type) {
    Pair pair = new Pair(type);
    pair.connect();
    return pair;
  }

  void connect() {
    QueuePairAddress addressOfB = b.queuePair.localAddress();
    b.queuePair.connect(a.queuePair.localAddress());
    a.queuePair.connect(addressOfB);
  }

  @Override
  public void close() {
    try (arena) {
      a.context.close();
      b.context.close();
    }
  }
}
