package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.Await;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.function.UnaryOperator;

/**
 * Two queue pairs on the two devices of the rig, each with a registered page, as tests want them.
 */
final class Pair implements AutoCloseable {

  /** Longer than a busy, emulated machine pauses a program that answers. */
  private static final AckTimeout TIMEOUT = AckTimeout.atLeast(Duration.ofSeconds(1));

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

    private final Arena arena;

    private Side(Device device, Arena arena) {
      this.arena = arena;
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

    QueuePairBuilder builder(QueuePairType type) {
      return QueuePair.builder(domain, type)
          .completions(completionQueue)
          .capacity(QueuePairCapacity.of(16).withSendSges(2).withReceiveSges(2));
    }

    /** Memory of a page, to be registered. */
    MemoryRegistration page(AccessFlag... access) {
      return domain.memory(arena.allocate(4096, 4096)).access(access);
    }

    void receive(long id) {
      receive(id, memory);
    }

    void receive(long id, MemoryRegion into) {
      ReceiveList list = new ReceiveList(1, 1);
      list.id(0, id);
      list.local(0, into, 0, into.length());
      if (queuePair.post(list) != 1) {
        throw new AssertionError("a receive was not taken");
      }
    }

    /** Posts the requests of a list and waits until the last one is done, the one signaled. */
    void run(SendList list) {
      run(list, CompletionStatus.SUCCESS);
    }

    /** Posts the requests of a list and waits until the last one, the one signaled, ended so. */
    void run(SendList list, CompletionStatus expected) {
      assertEquals(list.size(), queuePair.post(list));
      completion(expected);
    }

    /** Waits for one completion, which must be of this status. */
    Completions completion(CompletionStatus expected) {
      return Pair.completion(completionQueue, expected);
    }

    /** Waits for one completion. */
    Completions completion() {
      return Pair.completion(completionQueue);
    }
  }

  /** Waits for one completion of a queue, which must be of this status. */
  static Completions completion(CompletionQueue queue, CompletionStatus expected) {
    Completions completions = completion(queue);
    assertEquals(expected, completions.status(0), () -> completions.describe(0));
    return completions;
  }

  private static Completions completion(CompletionQueue queue) {
    Completions completions = new Completions(1);
    Await.until(() -> "a completion on " + queue, () -> queue.poll(completions) == 1);
    return completions;
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
    return inUse(type, builder -> builder);
  }

  /** Makes both queue pairs with some choices and brings them into use. */
  static Pair inUse(QueuePairType type, UnaryOperator<QueuePairBuilder> choices) {
    Pair pair = new Pair();
    try {
      pair.a.queuePair = choices.apply(pair.a.builder(type)).create();
      pair.b.queuePair = choices.apply(pair.b.builder(type)).create();
      pair.a.queuePair.setup().ackTimeout(TIMEOUT);
      pair.b.queuePair.setup().ackTimeout(TIMEOUT);
      pair.setup();
      return pair;
    } catch (RuntimeException | Error e) {
      pair.close();
      throw e;
    }
  }

  /** Brings both queue pairs into use. */
  void setup() {
    if (a.queuePair.type().isConnected()) {
      connect();
    } else {
      a.queuePair.activate();
      b.queuePair.activate();
    }
  }

  /** How a's datagrams find b. */
  AddressHandle handleToB() {
    int index = a.context.port(1).chooseGid().index();
    return a.domain.createAddressHandle(
        AddressVector.global(1, new GlobalRoute(Gid.of(Rig.addressB()), index)));
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
