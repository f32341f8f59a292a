package dev.verbena.benchmarks;

import static dev.verbena.benchmarks.MeasuredLoop.REQUESTS;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.benchmarks.DataPath.Choice;
import dev.verbena.efa.EfaDevice;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ParentDomain;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.ThreadDomain;
import java.lang.foreign.Arena;

/** Queue pairs that {@link DataPath} measures, and one that they are connected to. */
final class Queues implements AutoCloseable {
  /** The bytes of a request, unless they are copied. */
  static final int SIZE = 64;

  /** The number of places in the region that the data of requests take in turns. */
  static final int SLOTS = 64;

  private final Choice choice;
  private final boolean isDirect;
  private final Devices devices;
  private final Arena arena = Arena.ofShared();
  private final ProtectionDomain base;

  /** The queue that completes the requests; null if it is extended. */
  final CompletionQueue queue;

  /** The extended queue; null if it is not. */
  final ExtendedCompletionQueue extended;

  final MemoryRegion region;
  final MemoryRegion peerRegion;
  final SharedReceiveQueue shared;
  final QueuePair[] pairs;
  final QueuePair peer;

  /** The address of the peer; null if queue pairs are connected. */
  final AddressHandle handle;

  private final CompletionQueue peerQueue;
  private final Completions polled = new Completions(REQUESTS);
  private final ReceiveList receives = new ReceiveList(REQUESTS, 1);
  private final SendList sends = new SendList(REQUESTS, 1);

  /** Opens queues of one thread, some of them those of another. */
  Queues(Choice choice, Queues other, boolean isDirect) {
    this.isDirect = isDirect;
    this.choice = choice;
    devices = other == null ? new Devices(choice.device) : other.devices;
    Context context = devices.context;
    base = other == null ? context.allocateProtectionDomain() : other.base;
    ProtectionDomain domain =
        choice.threadDomain
            ? ParentDomain.builder(base).threadDomain(ThreadDomain.allocate(context)).create()
            : base;
    region = region(base);
    extended =
        choice.isExtended()
            ? context.completionQueue(choice.capacity).createExtended(CompletionField.BYTE_LEN)
            : null;
    queue = choice.isExtended() ? null : other == null ? queue(context, domain) : other.queue;
    shared = choice.receives.equals("shared") ? shared(domain) : null;
    pairs = new QueuePair[choice.pairs];
    for (int i = 0; i < pairs.length; i++) {
      pairs[i] = pair(domain);
    }
    Context ofPeer = devices.peer;
    ProtectionDomain peerDomain = ofPeer == context ? base : ofPeer.allocateProtectionDomain();
    peerRegion = ofPeer == context ? region : region(peerDomain);
    peerQueue = ofPeer.completionQueue(4 * REQUESTS).withoutCapacityWarning().create();
    peer = builder(peerDomain).completions(peerQueue).create();
    handle = connect(domain);
    for (int i = 0; i < REQUESTS; i++) {
      receives.local(i, peerRegion, 0, SIZE);
      sends.send(i).local(peerRegion, 0, SIZE).signaled();
    }
  }

  private MemoryRegion region(ProtectionDomain domain) {
    return domain.registerMemory(
        arena.allocate((long) (SLOTS + 1) * Math.max(SIZE, choice.size), 4096),
        AccessFlag.LOCAL_WRITE,
        AccessFlag.REMOTE_WRITE);
  }

  private CompletionQueue queue(Context context, ProtectionDomain domain) {
    CompletionQueue.Builder builder =
        context.completionQueue(choice.capacity).withoutCapacityWarning();
    if (isDirect) {
      builder = builder.direct();
    }
    if (choice.threadDomain) {
      builder = builder.singleThreaded().parentDomain(domain);
    }
    return builder.create();
  }

  private SharedReceiveQueue shared(ProtectionDomain domain) {
    SharedReceiveQueue.Builder builder = SharedReceiveQueue.builder(domain, 2 * REQUESTS);
    return isDirect ? builder.direct().create() : builder.create();
  }

  private QueuePairBuilder builder(ProtectionDomain domain) {
    QueuePairCapacity capacity = QueuePairCapacity.of(choice.capacity);
    if (choice.device.equals("efa")) {
      return EfaDevice.of(devices.context)
          .queuePair(domain)
          .capacity(capacity.withSendSges(1).withReceiveSges(1));
    }
    return QueuePair.builder(domain, QueuePairType.RC)
        .capacity(
            capacity
                .withReceiveRequests(2 * REQUESTS)
                .withSendSges(choice.sges)
                .withMaxInlineData(choice.isInline() ? choice.size : 0));
  }

  private QueuePair pair(ProtectionDomain domain) {
    QueuePairBuilder builder = builder(domain);
    if (shared != null) {
      builder.sharedReceiveQueue(shared);
    }
    if (choice.by.equals("posting") && !choice.device.equals("efa")) {
      builder.sendOperations(choice.isWrite() ? SendOperation.RDMA_WRITE : SendOperation.SEND);
    }
    return choice.isExtended()
        ? builder.completions(extended).create()
        : builder.completions(queue).create();
  }

  /** Connects the queue pairs; returns an address handle where they are not connected. */
  private AddressHandle connect(ProtectionDomain domain) {
    switch (choice.device) {
      case "ring" -> {}
      case "efa" -> {
        pairs[0].activate();
        peer.activate();
        return domain.createAddressHandle(
            AddressVector.global(1, new GlobalRoute(peer.localAddress().gid(), 0)));
      }
      default -> {
        for (int i = 1; i < pairs.length; i++) {
          pairs[i].connect(pairs[i].localAddress());
        }
        var address = peer.localAddress();
        peer.connect(pairs[0].localAddress());
        pairs[0].connect(address);
      }
    }
    return null;
  }

  /** Begins a request of a list, without its data. */
  SendRequest request(SendList list, int index) {
    SendRequest request =
        choice.isWrite()
            ? list.write(index).remote(peerRegion.start(), peerRegion.rkey())
            : list.send(index);
    return handle == null
        ? request
        : request.to(handle, peer.number(), peer.localAddress().queueKey());
  }

  /** Lets the peer receive what is sent. */
  void prepare() {
    if (!choice.isWrite()) {
      all(peer.post(receives), REQUESTS);
    }
  }

  /** Takes the completions of what the peer has received. */
  void finish() {
    if (!choice.isWrite()) {
      pollPeer();
    }
  }

  void sendFromPeer() {
    all(peer.post(sends), REQUESTS);
  }

  /** Takes the completions of the peer. */
  void pollPeer() {
    long _ = poll(peerQueue, polled, REQUESTS);
  }

  static void all(int posted, int wanted) {
    if (posted != wanted) {
      throw new IllegalStateException(posted + " of " + wanted + " posted");
    }
  }

  /** Polls a number of completions, and reads status, id and length of each. */
  static long poll(CompletionQueue queue, Completions completions, int wanted) {
    long sum = 0;
    for (int done = 0; done < wanted; ) {
      int n = queue.poll(completions, wanted - done);
      for (int i = 0; i < n; i++) {
        if (!completions.isSuccess(i)) {
          throw new IllegalStateException(completions.describe(i));
        }
        sum += completions.id(i) + completions.byteLength(i);
      }
      done += n;
    }
    return sum;
  }

  /** Closes all, unless another thread that shares it has. */
  @Override
  public void close() {
    synchronized (choice) {
      if (devices.context.isOpen()) {
        devices.close();
      }
      if (arena.scope().isAlive()) {
        arena.close();
      }
    }
  }
}
