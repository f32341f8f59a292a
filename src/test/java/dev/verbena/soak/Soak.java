package dev.verbena.soak;

import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.SynchronousMode;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import dev.verbena.testing.RdmaResources;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SharedReceiveQueue;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Makes and closes objects of each kind in turn, and compares what the process has before and
 * after. As a program, with the numbers of rounds and of connections:
 *
 * <pre>
 * java -Xms64m -Xmx64m -XX:+AlwaysPreTouch -XX:MaxDirectMemorySize=8m -cp ... dev.verbena.soak.Soak 2000 1000
 * </pre>
 *
 * <p>The limits bound what waits for a garbage collection. With {@code MALLOC_ARENA_MAX=1} in the
 * environment glibc keeps less of what was freed.
 */
public final class Soak {
  private static final Duration SOON = Await.LIMIT;
  private static final QueuePairCapacity SMALL = QueuePairCapacity.of(8);

  /** What the JVM itself may take meanwhile, for compiled code and the like. */
  private static final long KIBIBYTES_OF_JVM = 4096;

  /** Growth is a leak if it is seen in each of so many turns. */
  private static final int TURNS = 3;

  /** Of memory that is never freed there would be more in each round. */
  private static final long BYTES_OF_ROUND = 512;

  private final Context context = Rig.a().open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionChannel channel = context.createCompletionChannel();
  private final CompletionQueue queue = context.createCompletionQueue(64);
  private final MemorySegment memory = Arena.global().allocate(1 << 16, 4096);
  private final EventChannel events = EventChannel.open();
  private boolean failed;

  private interface Kind {
    void makeAndClose() throws Exception;
  }

  private Soak() {}

  /** Prints a line for each turn of a kind; exits with 1 if anything grew in each turn. */
  public static void main(String[] args) throws Exception {
    Map<String, Integer> before = RdmaResources.now();
    Soak soak = new Soak();
    if (RdmaResources.now().equals(before)) {
      throw new AssertionError("the kernel does not list what is open: " + before);
    }
    int rounds = Integer.parseInt(args[0]);
    for (Map.Entry<String, Kind> kind : soak.kinds().entrySet()) {
      soak.run(kind.getKey(), kind.getValue(), rounds);
    }
    soak.run("connection", soak::connect, Integer.parseInt(args[1]));
    soak.events.close();
    soak.context.close();
    System.exit(soak.failed ? 1 : 0);
  }

  private Map<String, Kind> kinds() {
    Map<String, Kind> kinds = new LinkedHashMap<>();
    kinds.put("context", () -> Rig.a().open().close());
    kinds.put("context, with objects", this::contextWithObjects);
    kinds.put("protection domain", () -> context.allocateProtectionDomain().close());
    kinds.put("memory region", this::region);
    kinds.put("memory window", this::window);
    kinds.put("completion channel", () -> context.createCompletionChannel().close());
    kinds.put("completion queue", () -> context.createCompletionQueue(64).close());
    kinds.put(
        "completion queue with a channel",
        () -> context.completionQueue(64).channel(channel).create().close());
    kinds.put("shared receive queue", () -> SharedReceiveQueue.create(domain, 16).close());
    kinds.put("address handle", this::addressHandle);
    for (QueuePairType type : new QueuePairType[] {QueuePairType.RC, QueuePairType.UD}) {
      kinds.put("queue pair " + type, () -> queuePair(type).close());
    }
    kinds.put("queue pair in use", this::activeQueuePair);
    kinds.put("queue pair, extended", this::extendedQueuePair);
    kinds.put("event channel", () -> EventChannel.open().close());
    kinds.put("identifier", () -> events.createId(PortSpace.TCP).close());
    kinds.put("identifier, synchronous", () -> SynchronousMode.createId(PortSpace.TCP).close());
    kinds.put("identifier with a queue pair", this::identifier);
    kinds.put("listener", () -> Listener.open(new InetSocketAddress(Rig.addressB(), 0)).close());
    kinds.put("asynchronous events", () -> AsyncEvents.of(context).listen(event -> {}).close());
    return kinds;
  }

  private void run(String name, Kind kind, int rounds) throws Exception {
    try {
      // The JVM compiles what is used often, and buffers are made when they are first needed.
      repeat(kind, Math.max(rounds / 4, Math.min(rounds, 20)));
    } catch (VerbsException e) {
      if (e.isUnsupported()) {
        System.out.println(name + ": " + e.getMessage());
        return;
      }
      throw e;
    }
    // What a compiler thread allocates once stays with malloc; what leaks grows in each turn.
    boolean grew = true;
    for (int turn = 0; grew && turn < TURNS; turn++) {
      grew = measure(name, kind, rounds);
    }
    failed |= grew;
  }

  /** Prints what a turn of rounds took and left behind; returns whether anything grew. */
  private boolean measure(String name, Kind kind, int rounds) throws Exception {
    Footprint before = Footprint.now();
    long start = System.nanoTime();
    repeat(kind, rounds);
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    Footprint after = settled(before, rounds);
    String growth = growth(before, after, rounds);
    System.out.printf(
        "%s: %d rounds in %d ms; %d descriptors, %d threads, %d KiB more; %s%s%n",
        name,
        rounds,
        took.toMillis(),
        after.descriptors(),
        after.threads(),
        after.kibibytes() - before.kibibytes(),
        after.kernelObjects(),
        growth.isEmpty() ? "" : " GREW:" + growth);
    return !growth.isEmpty();
  }

  /** Threads that end, and the kernel's release of what was used last, may take a moment. */
  private static Footprint settled(Footprint before, int rounds)
      throws IOException, InterruptedException {
    Footprint after = Footprint.now();
    for (int i = 0; i < 20 && !growth(before, after, rounds).isEmpty(); i++) {
      Await.pass(Duration.ofMillis(200), "what was closed last is released");
      after = Footprint.now();
    }
    return after;
  }

  private static String growth(Footprint before, Footprint after, int rounds) {
    return after.growthSince(before, KIBIBYTES_OF_JVM + rounds * BYTES_OF_ROUND / 1024);
  }

  private static void repeat(Kind kind, int rounds) throws Exception {
    for (int i = 0; i < rounds; i++) {
      kind.makeAndClose();
    }
  }

  private void contextWithObjects() {
    try (Context opened = Rig.a().open()) {
      ProtectionDomain own = opened.allocateProtectionDomain();
      own.registerMemory(memory, AccessFlag.LOCAL_WRITE);
      QueuePair.builder(own, QueuePairType.RC)
          .completions(opened.createCompletionQueue(16))
          .capacity(SMALL)
          .create();
    }
  }

  private void region() {
    domain.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ).close();
  }

  private void window() {
    MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2).close();
  }

  private void addressHandle() {
    int index = context.port(1).chooseGid().index();
    domain
        .createAddressHandle(
            AddressVector.global(1, new GlobalRoute(Gid.of(Rig.addressB()), index)))
        .close();
  }

  private QueuePair queuePair(QueuePairType type) {
    return QueuePair.builder(domain, type).completions(queue).capacity(SMALL).create();
  }

  private void activeQueuePair() {
    try (QueuePair a = queuePair(QueuePairType.RC);
        QueuePair b = queuePair(QueuePairType.RC)) {
      var ofB = b.localAddress();
      b.connect(a.localAddress());
      a.connect(ofB);
    }
  }

  private void extendedQueuePair() {
    QueuePair.builder(domain, QueuePairType.RC)
        .completions(queue)
        .capacity(SMALL)
        .sendOperations(
            Arrays.stream(SendOperation.values()).limit(2).toArray(SendOperation[]::new))
        .create()
        .close();
  }

  private void identifier() throws InterruptedException {
    InetSocketAddress here = new InetSocketAddress(Rig.addressA(), 0);
    InetSocketAddress there = new InetSocketAddress(Rig.addressB(), 7471);
    try (ConnectionId id = events.createId(PortSpace.TCP)) {
      id.resolveAddress(here, there, SOON);
      events.poll(SOON);
      id.queues().createQueuePair(SMALL);
    }
  }

  /** Connects, sends in both directions, and ends the connection. */
  private void connect() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0));
        ExecutorService peer = Executors.newSingleThreadExecutor()) {
      CountDownLatch answered = new CountDownLatch(1);
      Future<?> served =
          peer.submit(
              () -> {
                try (Connection client =
                    Connection.accept(
                        listener.take(), ConnectionSettings.DEFAULT.withTimeout(SOON))) {
                  client.send(client.receive());
                  answered.countDown();
                  client.receive(); // The end of the connection.
                } finally {
                  answered.countDown();
                }
                return null;
              });
      try (Connection server =
          Connection.connect(
              new InetSocketAddress(Rig.addressB(), listener.port()),
              ConnectionSettings.DEFAULT
                  .withLocalAddress(new InetSocketAddress(Rig.addressA(), 0))
                  .withTimeout(SOON))) {
        server.send(new byte[16]);
        server.receive();
        answered.await(); // An end that closes flushes what is not acknowledged yet.
      }
      served.get();
    }
  }
}
