package dev.verbena.simulated;

import static dev.verbena.simulated.RequestHistory.SLOT;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.simulated.RequestHistory.Path;
import dev.verbena.simulated.RequestHistory.Receipt;
import dev.verbena.simulated.RequestHistory.Stream;
import dev.verbena.simulated.SentRequest.Kind;
import dev.verbena.soft.Faults;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Posters send requests from a device to another, over some queue pairs that share a completion
 * queue, while something may end or hinder them.
 */
abstract class VerbsScenario {
  private static final int SLOTS = 160;

  /** At most so many requests are posted by each poster, and to each queue pair. */
  private static final int REQUESTS = 8;

  private static final int MOST_MESSAGES = 2 * REQUESTS;

  /** How probable the loss of a packet is that a queue pair makes good. */
  private static final double RARE = 0.02;

  /** Longer than a device tries to send a request again. */
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  final Simulation simulation;
  final RandomGenerator random;
  final SoftNetwork network;
  final Arena arena = Arena.ofShared();
  final End a;
  final End b;
  final List<Path> paths;
  final RequestHistory history;

  private final List<Thread> pollers = new ArrayList<>();

  /** At the end b: what is added to, what is swapped, what b increments. */
  final MemoryRegion words;

  /** How many requests a queue holds. */
  final int depth;

  final int receiveDepth;

  /** The number of queue pairs at either end. */
  final int width;

  private int posters;

  /** Nothing ends, and little is lost: no request may fail. */
  final boolean isCalm;

  private final boolean isReliable;
  private final boolean isOrdered;
  private boolean isOver;

  /** Either device, with its memory and completion queue. */
  final class End {
    final Context context;
    final ProtectionDomain domain;
    final MemorySegment memory = arena.allocate((long) SLOTS * SLOT, 4096);
    final MemoryRegion region;
    final CompletionQueue completions;
    private final CompletionChannel channel;
    private final CompletionWaiter waiter;

    private End(String name, int host, int entries) {
      context = network.addDevice(name, InetAddress.ofLiteral("192.0.2." + host)).open();
      domain = context.allocateProtectionDomain();
      region =
          domain.registerMemory(
              memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
      channel = random.nextBoolean() ? context.createCompletionChannel() : null;
      completions = completions(entries);
      Duration spin = Duration.ofNanos(random.nextInt(2) * 20_000L);
      waiter =
          channel == null || random.nextBoolean() ? null : new CompletionWaiter(completions, spin);
    }

    private CompletionQueue completions(int entries) {
      CompletionQueue.Builder builder = context.completionQueue(entries).withoutCapacityWarning();
      return channel == null ? builder.create() : builder.channel(channel).create();
    }
  }

  VerbsScenario(Simulation simulation, SoftNetwork network, int depth, QueuePairType type) {
    this.simulation = simulation;
    this.random = simulation.random();
    this.network = network;
    boolean isConnected = type == QueuePairType.RC || type == QueuePairType.DC_INITIATOR;
    this.isReliable = isConnected || type == QueuePairType.SRD;
    this.isOrdered = type != QueuePairType.SRD;
    this.depth = depth;
    this.receiveDepth = isReliable ? depth : MOST_MESSAGES;
    this.width = 1 + random.nextInt(2);
    a = new End("a", 1, width * depth);
    b = new End("b", 2, width * (receiveDepth + 2));
    words =
        b.domain.registerMemory(
            arena.allocate(3 * Long.BYTES, Long.BYTES),
            isConnected
                ? Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC, AccessFlag.REMOTE_READ)
                : Set.of(AccessFlag.REMOTE_READ));
    history =
        new RequestHistory(a.memory, b.memory, words.memory(), isOrdered, type == QueuePairType.UD);
    paths = history.paths;
    isCalm = random.nextInt(4) == 0;
    history.isFailureFree = isCalm;
    history.isLossless = isReliable;
  }

  /** The shared receive queue of b, or null. */
  SharedReceiveQueue shared() {
    return null;
  }

  abstract Kind kind();

  abstract int maxLength(Kind kind);

  /** Adds the destination to a request. */
  abstract void address(Path path, SentRequest request, SendRequest formatted);

  /** Whether each send request is signaled: an EFA reports all. */
  boolean signalsAll() {
    return !isOrdered;
  }

  /** The length of the buffer of a receive request. */
  int receiveLength() {
    return SLOT;
  }

  /** Prepares the paths when completions are polled. */
  abstract void begin() throws InterruptedException;

  /** Uses the queue pairs again. */
  void recover() throws InterruptedException {}

  /** What happens at some time. */
  abstract void disturb() throws InterruptedException;

  static void pause(RandomGenerator random, int mostMicros) throws InterruptedException {
    Simulation.sleep(Duration.ofNanos(1 + random.nextLong(mostMicros * 1000L)));
  }

  final void run() throws Exception {
    chooseFaults(network.faults());
    for (End end : List.of(a, b)) {
      for (int i = random.nextInt(2); i >= 0; i--) {
        pollers.add(simulation.actor("poller", () -> poll(end)));
      }
    }
    begin();
    List<Thread> actors = new ArrayList<>();
    List<Path> queues = shared() == null ? paths : Collections.singletonList(null);
    for (Path queue : queues) {
      actors.add(simulation.actor("receiver", () -> receive(queue)));
    }
    if (!isReliable && history.isLossless) { // Without a receive a message would be lost.
      for (Thread receiver : actors) {
        receiver.join();
      }
    }
    for (Path path : paths) {
      for (int i = random.nextInt(2); i >= 0; i--) {
        Stream stream = new Stream(path);
        path.streams.add(stream);
        int count = 1 + random.nextInt(REQUESTS);
        posters++;
        actors.add(
            simulation.actor(
                "poster",
                () -> {
                  post(stream, count);
                  posters--;
                }));
      }
    }
    Thread counter = simulation.actor("counter", this::count);
    if (!isCalm && random.nextInt(3) > 0) {
      pause(random, random.nextBoolean() ? 100 : 3000);
      disturb();
    }
    for (Thread actor : actors) {
      actor.join();
    }
    end();
    counter.join();
    for (Thread poller : pollers) {
      poller.interrupt();
      poller.join();
    }
    Simulation.sleep(Duration.ofSeconds(2));
    history.checkEnd();
    network.faults().none();
    recover();
    close();
  }

  private void chooseFaults(Faults faults) {
    if (!isReliable && random.nextBoolean()) { // Nothing repeats or reorders packets.
      if (isCalm) {
        history.isLossless = true;
      } else {
        Faults _ = faults.seed(random.nextLong()).loss(random.nextDouble(0.2)).corrupt(RARE);
      }
      return;
    }
    history.isRepeated = !isReliable;
    if (!isCalm) {
      Faults _ = faults.vary(random);
    } else if (random.nextBoolean()) {
      Faults _ = faults.seed(random.nextLong()).strict();
    } else if (random.nextBoolean()) {
      Faults _ = faults.seed(random.nextLong()).loss(RARE).duplicate(RARE).corrupt(RARE);
    }
  }

  private void close() {
    a.context.close();
    b.context.close();
    network.close();
    arena.close();
  }

  /** Waits until all requests have completed, then fails the queue pairs, which flush the rest. */
  private void end() throws InterruptedException {
    await(
        "a send request does not complete", () -> history.sent.stream().allMatch(history::isDone));
    isOver = true;
    history.isFailureFree = false;
    for (Path path : paths) {
      ignoreClosed(path.a::fail);
      ignoreClosed(path.b::fail);
    }
    await(
        "a receive request does not complete",
        () ->
            history.receives.stream()
                .allMatch(r -> r.isComplete || r.path == null || r.path.isDiscardedAtB));
    await("a message is not received", () -> history.sent.stream().allMatch(history::isReceived));
    await("a request is not flushed", () -> paths.stream().allMatch(RequestHistory::isFlushed));
  }

  /** What is waited for. */
  interface Condition {
    boolean isTrue();
  }

  final void await(String complaint, Condition condition) throws InterruptedException {
    Duration begin = simulation.now();
    while (!condition.isTrue()) {
      Duration waited = simulation.now().minus(begin);
      assertTrue(waited.compareTo(PATIENCE) < 0, () -> complaint + ": " + history.sent);
      Simulation.sleep(Duration.ofMillis(1).plus(waited.dividedBy(4)));
    }
  }

  /** Runs what is refused for an object that the scenario has closed. */
  static boolean ignoreClosed(Runnable code) {
    try {
      code.run();
      return true;
    } catch (IllegalStateException | VerbsException _) {
      return false; // Closed, or its device was removed.
    }
  }

  // Posting

  private void post(Stream stream, int count) throws InterruptedException {
    int left = count;
    while (left > 0) {
      int size = Math.min(left, 1 + random.nextInt(3));
      left -= size;
      SendList list = new SendList(size, 1, Long.BYTES);
      List<SentRequest> batch = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        batch.add(format(list, i, stream));
      }
      if (!post(stream, list, batch)) {
        return;
      }
      if (random.nextInt(3) == 0) {
        pause(random, 300);
      }
    }
  }

  private boolean post(Stream stream, SendList list, List<SentRequest> batch)
      throws InterruptedException {
    batch.forEach(request -> request.isPosted = true); // It may complete before post returns.
    int posted = 0;
    int refusals = 0;
    while (posted < batch.size()) {
      int from = posted;
      int[] accepted = {0};
      if (!ignoreClosed(() -> accepted[0] = stream.path.a.post(list, from, batch.size() - from))) {
        batch.stream().skip(from).forEach(request -> request.isPosted = false);
        return false;
      }
      posted += accepted[0];
      if (posted < batch.size()) {
        pause(random, 50 << Math.min(12, ++refusals / 10));
      }
    }
    return true;
  }

  private SentRequest format(SendList list, int index, Stream stream) {
    Kind kind = kind();
    SentRequest written = kind == Kind.READ ? history.lastWritten(stream) : null;
    if (kind == Kind.READ && written == null) {
      kind = Kind.WRITE;
    }
    int length =
        switch (kind) {
          case READ_NUMBER, FETCH_ADD, COMPARE_SWAP -> Long.BYTES;
          case READ -> written.length;
          default -> 4 + random.nextInt(maxLength(kind) - 3);
        };
    boolean signaled =
        signalsAll()
            || stream.path.streams.size() > 1
            || stream.unsignaled >= depth - 1
            || random.nextInt(3) > 0
            || kind.isAtomic()
            || kind == Kind.READ_NUMBER;
    stream.unsignaled = signaled ? 0 : stream.unsignaled + 1;
    int id = history.sent.size();
    long before = kind == Kind.COMPARE_SWAP ? history.lastSeen : history.number;
    SentRequest request = new SentRequest(id, kind, length, signaled, written, before);
    SentRequest _ = history.add(stream, request);
    MemorySegment slot = RequestHistory.slot(a.memory, id);
    if (kind.isReceived() || kind.isWrite()) {
      for (int i = 0; i < length; i++) {
        slot.set(ValueLayout.JAVA_BYTE, i, request.data(i));
      }
      slot.set(ValueLayout.JAVA_INT_UNALIGNED, 0, id + 1);
    }
    SendRequest formatted =
        switch (kind) {
          case SEND -> list.send(index);
          case SEND_IMMEDIATE -> list.sendWithImmediate(index, id);
          case WRITE -> list.write(index);
          case WRITE_IMMEDIATE -> list.writeWithImmediate(index, id);
          case READ, READ_NUMBER -> list.read(index);
          case FETCH_ADD -> list.fetchAndAdd(index, 1);
          case COMPARE_SWAP -> list.compareAndSwap(index, before, id + 1);
        };
    formatted.id(id).local(a.region, (long) id * SLOT, length);
    if (kind.isWrite()) {
      formatted.remote(stream.path.target.address() + (long) id * SLOT, stream.path.targetKey);
    } else if (kind == Kind.READ) {
      formatted.remote(b.region.start() + (long) written.id * SLOT, b.region.rkey());
    } else if (kind == Kind.READ_NUMBER || kind.isAtomic()) {
      int word = kind == Kind.FETCH_ADD ? 0 : kind == Kind.COMPARE_SWAP ? 1 : 2;
      formatted.remote(words.start() + (long) word * Long.BYTES, words.rkey());
    }
    address(stream.path, request, formatted);
    if (signaled) {
      formatted.signaled();
    }
    return request;
  }

  // Receiving

  /** Posts so many receive requests as messages can arrive. */
  private void receive(Path path) throws InterruptedException {
    int most = MOST_MESSAGES * (path == null ? paths.size() : 1);
    ReceiveList list = new ReceiveList(1, 1);
    int begin = history.isLossless && !isReliable ? 0 : random.nextInt(2) * 500;
    int refusals = 0;
    for (int i = 0; i < most && history.receives.size() < SLOTS / 2 && !isOver; i++) {
      int slot = SLOTS / 2 + history.receives.size();
      Receipt receipt = new Receipt(slot, receiveLength(), path);
      list.id(0, history.receives.size());
      list.local(0, b.region, (long) slot * SLOT, receipt.length);
      history.add(receipt);
      int[] accepted = {0};
      while (accepted[0] == 0) {
        if (!ignoreClosed(
            () -> accepted[0] = path == null ? shared().post(list) : path.b.post(list))) {
          receipt.isComplete = true;
          return;
        }
        if (accepted[0] == 0 || random.nextInt(1000) < begin) {
          if (isEnding()) {
            receipt.isComplete |= accepted[0] == 0;
            return;
          }
          pause(random, 500 << Math.min(8, ++refusals / 20));
        }
      }
    }
  }

  /** Whether all senders are done, so that no receive is needed. */
  private boolean isEnding() {
    return isOver || (posters == 0 && history.sent.stream().allMatch(history::isDone));
  }

  /** Increments the number that is read. */
  private void count() throws InterruptedException {
    while (!isOver) {
      history.number++;
      history.words.set(ValueLayout.JAVA_LONG, 2 * Long.BYTES, history.number);
      pause(random, 200 << Math.min(12, (int) history.number / 20));
    }
  }

  // Completions

  private void poll(End end) throws InterruptedException {
    Completions completions = new Completions(1 + random.nextInt(4));
    try {
      if (end.channel == null) {
        int idle = 0;
        while (true) {
          int count = end.completions.poll(completions);
          completed(end, completions, count);
          idle = count > 0 ? 0 : idle + 1;
          pause(random, 30 << Math.min(12, idle / 50));
        }
      } else if (end.waiter != null) {
        while (true) {
          completed(end, completions, end.waiter.take(completions));
        }
      } else {
        while (true) {
          end.completions.requestNotification();
          int count;
          do {
            count = end.completions.poll(completions);
            completed(end, completions, count);
          } while (count > 0);
          CompletionQueue _ = end.channel.take();
        }
      }
    } catch (InterruptedException e) {
      if (!isOver) {
        throw e;
      }
    }
  }

  private void completed(End end, Completions completions, int count) {
    for (int i = 0; i < count; i++) {
      if (end == a) {
        history.sent(completions, i);
      } else if (completions.id(i) < 0) {
        completedAtB(completions.id(i), completions.status(i));
      } else {
        history.received(completions, i);
      }
    }
  }

  /** A send request of b has completed. */
  void completedAtB(long id, CompletionStatus status) {
    throw new AssertionError(id + " " + status);
  }
}
