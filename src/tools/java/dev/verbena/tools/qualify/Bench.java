package dev.verbena.tools.qualify;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.PortState;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.QueuePairSession;
import dev.verbena.verbs.QueuePairSetup;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.ReceiveQueue;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** What a trial uses: a device, opened, with memory, and two queue pairs of it that it connects. */
final class Bench implements AutoCloseable {
  /** The bytes of the memory; the second half is the peer's. */
  static final int SIZE = 8192;

  static final int HALF = SIZE / 2;

  /** The number of any port, the index of any GID. */
  static final int ANY = -1;

  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final AckTimeout ACK_TIMEOUT = AckTimeout.atLeast(Duration.ofMillis(200));

  final Context context;
  final ProtectionDomain domain;
  final CompletionQueue completions;
  final CompletionQueue peerCompletions;
  final MemoryRegion memory;
  final Port port;
  private final Arena arena = Arena.ofShared();
  private final Completions one = new Completions(1);
  private final int gidIndex;

  Bench(Device device) {
    this(device, false, ANY, ANY);
  }

  /**
   * Opens a device.
   *
   * @param isDirect whether queue pairs are on the direct data path
   * @param number a port, or {@link #ANY} for the first one that is active
   * @param gidIndex the index of a GID, or {@link #ANY}
   */
  Bench(Device device, boolean isDirect, int number, int gidIndex) {
    this.gidIndex = gidIndex;
    context = device.open();
    try {
      var _ = AsyncEvents.of(context).poll(); // No warnings of errors that trials cause.
      domain = context.allocateProtectionDomain();
      completions = queue(isDirect);
      peerCompletions = queue(isDirect);
      memory =
          domain.registerMemory(
              page(SIZE),
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.REMOTE_ATOMIC);
      port =
          context.ports().stream()
              .filter(candidate -> candidate.attributes().state() == PortState.ACTIVE)
              .filter(candidate -> number == ANY || candidate.number() == number)
              .findFirst()
              .orElseGet(() -> context.port(number == ANY ? 1 : number));
    } catch (Throwable t) {
      context.close();
      throw t;
    }
  }

  private CompletionQueue queue(boolean isDirect) {
    CompletionQueue.Builder builder = context.completionQueue(64);
    return (isDirect ? builder.direct() : builder).create();
  }

  MemorySegment page(long size) {
    return arena.allocate(size, 4096);
  }

  QueuePairBuilder builder(QueuePairType type) {
    return QueuePair.builder(domain, type)
        .completions(completions)
        .capacity(QueuePairCapacity.of(16));
  }

  QueuePairBuilder peerBuilder(QueuePairType type) {
    return builder(type).completions(peerCompletions);
  }

  private QueuePairSetup setup(QueuePair queuePair) {
    QueuePairSetup setup = queuePair.setup().port(port.number());
    return gidIndex == ANY ? setup : setup.gid(gidIndex);
  }

  /** Connects two queue pairs; the first sends only a few times to a peer that does not answer. */
  void connect(QueuePair queuePair, QueuePair peer) {
    setup(queuePair).ackTimeout(ACK_TIMEOUT).retryCount(3).rnrRetryCount(1);
    setup(peer).ackTimeout(ACK_TIMEOUT);
    var address = peer.localAddress();
    peer.connect(queuePair.localAddress());
    queuePair.connect(address);
  }

  /** Two connected queue pairs. */
  record Pair(QueuePair queuePair, QueuePair peer) {}

  Pair pair(QueuePairType type) {
    return connected(builder(type).create(), peerBuilder(type).create());
  }

  /** Returns two queue pairs of type RC. */
  Pair pair(QueuePairCapacity capacity) {
    return connected(
        builder(QueuePairType.RC).capacity(capacity).create(),
        peerBuilder(QueuePairType.RC).capacity(capacity).create());
  }

  Pair connected(QueuePair queuePair, QueuePair peer) {
    connect(queuePair, peer);
    return new Pair(queuePair, peer);
  }

  QueuePair datagramQueuePair(CompletionQueue queue) {
    QueuePair queuePair = builder(QueuePairType.UD).completions(queue).create();
    queuePair.setup().port(port.number());
    queuePair.activate();
    return queuePair;
  }

  /** Returns an address handle for this port. */
  AddressHandle toItself() {
    if (port.attributes().linkLayer() == LinkLayer.INFINIBAND) {
      return domain.createAddressHandle(
          AddressVector.local(port.number(), port.attributes().lid()));
    }
    GidChoice gid = port.chooseGid();
    return domain.createAddressHandle(
        AddressVector.global(port.number(), new GlobalRoute(gid.gid(), gid.index())));
  }

  /** Returns a request that sends the begin of the memory. */
  SendList send(long length) {
    SendList list = new SendList(1, 1);
    list.send(0).local(memory, 0, length).signaled();
    return list;
  }

  /** Returns a request that writes the begin of the memory to an address. */
  SendList write(long length, long address, int rkey) {
    SendList list = new SendList(1, 1);
    list.write(0).local(memory, 0, length).remote(address, rkey).signaled();
    return list;
  }

  /** Returns a request that reads the begin of the memory into its second half. */
  SendList read(long length) {
    SendList list = new SendList(1, 1);
    list.read(0).local(memory, HALF, length).remote(memory.start(), memory.rkey()).signaled();
    return list;
  }

  void receive(ReceiveQueue queue, long length) {
    ReceiveList list = new ReceiveList(1, 1);
    list.local(0, memory, HALF, length);
    require(queue.post(list) == 1, "the receive queue is full");
  }

  void post(QueuePair queuePair, SendList list) {
    require(queuePair.post(list) == list.size(), "the send queue is full");
  }

  /** Posts requests of which the last is signaled, and waits for its completion. */
  Completions run(QueuePair queuePair, SendList list) {
    post(queuePair, list);
    return success(completions);
  }

  Completions success(CompletionQueue queue) {
    return completion(queue, CompletionStatus.SUCCESS);
  }

  /** Waits for one completion, which must have this status, and is valid until the next one. */
  Completions completion(CompletionQueue queue, CompletionStatus expected) {
    await(() -> queue.poll(one) != 0);
    require(one.status(0) == expected, "status " + one.status(0) + " in place of " + expected);
    return one;
  }

  /** Goes to the next completion of a session, which must be a success. */
  QueuePairSession success(QueuePairSession session) {
    await(session::next);
    require(session.isSuccess(), "status " + session.status() + " in place of SUCCESS");
    return session;
  }

  private static void await(BooleanSupplier isPolled) {
    long start = System.nanoTime();
    while (!isPolled.getAsBoolean()) {
      if (System.nanoTime() - start > LIMIT.toNanos()) {
        throw new DifferenceException("no completion within " + LIMIT.toSeconds() + " s");
      }
      Thread.onSpinWait();
    }
  }

  /**
   * Sends a message of the first half, which must arrive in the second one.
   *
   * @param header the length of what precedes it there
   * @return the completion of the receive
   */
  Completions deliver(QueuePair from, SendList message, ReceiveQueue to, long header, long length) {
    fill();
    receive(to, header + length);
    var _ = run(from, message);
    Completions received = success(peerCompletions);
    requireArrived(header, length);
    return received;
  }

  /** Fills both halves of the memory with different bytes. */
  void fill() {
    memory.memory().asSlice(0, HALF).fill((byte) 0x5a);
    memory.memory().asSlice(HALF).fill((byte) 0);
  }

  /** Requires that bytes of the first half have arrived in the second. */
  void requireArrived(long offset, long length) {
    MemorySegment sent = memory.memory().asSlice(0, length);
    MemorySegment arrived = memory.memory().asSlice(HALF + offset, length);
    require(sent.mismatch(arrived) < 0, "the data that arrived differs from what was sent");
  }

  /** What a trial found differs from what the manual page says. */
  static final class DifferenceException extends IllegalStateException {
    private static final long serialVersionUID = 1;

    DifferenceException(String message) {
      super(message);
    }
  }

  static void require(boolean condition, String otherwise) {
    if (!condition) {
      throw new DifferenceException(otherwise);
    }
  }

  @Override
  public void close() {
    context.close();
    arena.close();
  }
}
