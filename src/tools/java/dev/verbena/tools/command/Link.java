package dev.verbena.tools.command;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.cm.Endpoint;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * One end of a reliable connection, or of several, with a buffer that the peer may read and write.
 */
public final class Link implements AutoCloseable {
  /** The capacity of a queue in requests. */
  public static final int DEPTH = 128;

  /** The largest number of requests of one post, of which the last is signaled. */
  public static final int BATCH = 16;

  private final Arena arena = Arena.ofShared();
  private final Runnable end;
  private final ProtectionDomain domain;
  private final MemoryRegion region;
  private final CompletionChannel channel;
  private final CompletionQueue queue;
  private final List<QueuePair> queuePairs;
  private final CompletionWaiter waiter;
  private final Completions completions = new Completions(16);
  private final Completions next = new Completions(1);
  private Completions taken = completions;
  private Duration patience = Patience.forBytes(0);
  private boolean byEvents;

  /**
   * Creates the ends of one or several connections, which share a buffer and a completion queue,
   * and are to be connected by exchanging addresses.
   */
  public Link(Device device, long bufferSize, int connections, SendOperation... operations) {
    Context context = device.open();
    end = context::close;
    domain = context.allocateProtectionDomain();
    region = register(bufferSize);
    channel = domain.context().createCompletionChannel();
    queue = domain.context().completionQueue(2 * DEPTH * connections).channel(channel).create();
    queuePairs =
        Stream.generate(() -> builder().sendOperations(operations).create())
            .limit(connections)
            .toList();
    waiter = new CompletionWaiter(queue, Duration.ZERO);
  }

  /**
   * Creates an end on an endpoint, which must be connected or accepted, and is closed with this
   * object.
   */
  public Link(Endpoint endpoint, long bufferSize) {
    end = endpoint::close;
    domain = endpoint.id().context().allocateProtectionDomain();
    region = register(bufferSize);
    channel = domain.context().createCompletionChannel();
    queue = domain.context().completionQueue(2 * DEPTH).channel(channel).create();
    queuePairs = List.of(endpoint.id().queues().createQueuePair(builder()));
    waiter = new CompletionWaiter(queue, Duration.ZERO);
  }

  private MemoryRegion register(long size) {
    return domain.registerMemory(
        arena.allocate(size, 4096),
        AccessFlag.LOCAL_WRITE,
        AccessFlag.REMOTE_WRITE,
        AccessFlag.REMOTE_READ,
        AccessFlag.REMOTE_ATOMIC);
  }

  private QueuePairBuilder builder() {
    return QueuePair.builder(domain, QueuePairType.RC)
        .completions(queue)
        .capacity(QueuePairCapacity.of(DEPTH));
  }

  /**
   * Sets how completions are awaited.
   *
   * @param byEvents whether waits sleep until a completion event; otherwise they poll
   */
  public void setWaiting(Duration patience, boolean byEvents) {
    this.patience = patience;
    this.byEvents = byEvents;
  }

  /** Returns the name of the device. */
  public String device() {
    return domain.context().device().name();
  }

  public QueuePair queuePair() {
    return queuePairs.getFirst();
  }

  public List<QueuePair> queuePairs() {
    return queuePairs;
  }

  public QueuePairAddress address() {
    return queuePair().localAddress();
  }

  public MemoryRegion region() {
    return region;
  }

  public MemorySegment buffer() {
    return region.memory();
  }

  /** Returns the completions of the last wait. */
  public Completions completions() {
    return taken;
  }

  public void post(SendList list) {
    post(list, 0);
  }

  public void post(ReceiveList list) {
    post(list, 0);
  }

  /** Posts to one of the queue pairs. */
  public void post(SendList list, int connection) {
    require(queuePairs.get(connection).post(list), list.size());
  }

  public void post(ReceiveList list, int connection) {
    require(queuePairs.get(connection).post(list), list.size());
  }

  public static void require(int taken, int wanted) {
    if (taken < wanted) {
      throw new IllegalStateException("the queue took " + taken + " of " + wanted + " requests");
    }
  }

  /**
   * Polls until there are completions, checks that they are successful, and returns their number.
   */
  public int await() {
    return awaitUpTo(completions.capacity());
  }

  /** Polls a number of completions, and no more. */
  public void await(int number) {
    for (int done = 0; done < number; ) {
      done += awaitUpTo(Math.min(number - done, completions.capacity()));
    }
  }

  /**
   * Waits until there are completions, by polling or by events, takes no more than a limit, and
   * returns their number.
   */
  public int awaitAny(int limit) throws InterruptedException {
    if (byEvents) {
      sleep(limit < completions.capacity() ? next : completions);
      return taken.count();
    }
    return awaitUpTo(Math.min(limit, completions.capacity()));
  }

  /**
   * Waits for a number of completions, by polling or by events, and takes no more: a peer that has
   * received the last message may end the connection, which flushes the receive requests.
   */
  public void take(int number) throws InterruptedException {
    if (!byEvents) {
      await(number);
      return;
    }
    for (int i = 0; i < number; i++) {
      sleep(next);
    }
  }

  /** Sleeps until there are completions, and checks that they are successful. */
  public void sleep() throws InterruptedException {
    sleep(completions);
  }

  private void sleep(Completions into) throws InterruptedException {
    if (waiter.poll(into, patience) == 0) {
      throw Patience.tooLate(patience);
    }
    taken = into;
    requireSuccess(into);
  }

  private int awaitUpTo(int limit) {
    Patience.spin(() -> queue.poll(completions, limit) > 0, patience);
    taken = completions;
    requireSuccess(completions);
    return completions.count();
  }

  /** Checks that completions are successful. */
  public static void requireSuccess(Completions completions) {
    for (int i = 0; i < completions.count(); i++) {
      if (!completions.isSuccess(i)) {
        throw new IllegalStateException(completions.describe(i));
      }
    }
  }

  @Override
  public void close() {
    end.run();
    domain.close();
    queue.close();
    channel.close();
    arena.close();
  }
}
