package dev.verbena.tools;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Connections that receive from one queue, with the memory that all of them use. */
final class SharedReceives implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** How long to sleep before looking whether the other end is still there. */
  private static final Duration WATCH = Duration.ofSeconds(1);

  private final Arena arena = Arena.ofShared();
  private final int depth;
  private final ProtectionDomain domain;
  private final MemoryRegion outbox;
  private final SharedReceiveQueue queue;
  private final CompletionQueue received;
  private final CompletionQueue sent;
  private final CompletionWaiter messages;
  private final CompletionWaiter departures;
  private final Completions completions = new Completions(16);
  private final ReceiveList receive = new ReceiveList(1, 1);
  private final SendList send = new SendList(1, 1);
  private final List<Endpoint> connections = new ArrayList<>();

  SharedReceives(Context context, int depth, int length) {
    this.depth = depth;
    domain = context.allocateProtectionDomain();
    outbox = domain.registerMemory(arena.allocate(length), AccessFlag.LOCAL_WRITE);
    MemoryRegion inbox = domain.registerMemory(arena.allocate(length), AccessFlag.LOCAL_WRITE);
    receive.local(0, inbox, 0, length);
    send.send(0).local(outbox, 0, length).signaled();
    queue = domain.createSharedReceiveQueue(depth);
    for (int i = 0; i < depth; i++) {
      postReceive();
    }
    received = completionQueue(context);
    sent = completionQueue(context);
    messages = new CompletionWaiter(received, Duration.ZERO);
    departures = new CompletionWaiter(sent, Duration.ZERO);
  }

  private CompletionQueue completionQueue(Context context) {
    return context.completionQueue(depth).channel(context.createCompletionChannel()).create();
  }

  void accept(Endpoint request) throws InterruptedException {
    add(request).accept(ConnectionParameters.DEFAULT, new byte[0], PATIENCE);
  }

  void connect(Endpoint resolved) throws InterruptedException {
    add(resolved).connect(ConnectionParameters.DEFAULT, new byte[0], PATIENCE);
  }

  private Endpoint add(Endpoint connection) {
    connections.add(connection);
    connection
        .id()
        .queues()
        .createQueuePair(
            domain
                .queuePair(QueuePairType.RC)
                .sendCompletions(sent)
                .receiveCompletions(received)
                .sharedReceiveQueue(queue)
                .capacity(QueuePairCapacity.of(1).withReceiveRequests(0).withReceiveSges(0)));
    return connection;
  }

  /** Sends over one of the connections, waits until it is done, and returns the queue pair. */
  QueuePair send(int connection) throws InterruptedException {
    QueuePair queuePair = connections.get(connection).id().queuePair().orElseThrow();
    if (queuePair.post(send) == 0) {
      throw new Failure("rdma_post_send: the queue is full");
    }
    await(departures);
    return queuePair;
  }

  /**
   * Sleeps until there are messages; as many receives are to be posted again. The result is valid
   * until the next call of this object.
   */
  Completions take() throws InterruptedException {
    return await(messages);
  }

  /** Receives of a shared queue are not flushed with a connection: so its end is looked for. */
  private Completions await(CompletionWaiter waiter) throws InterruptedException {
    boolean ended = false;
    while (waiter.poll(completions, WATCH) == 0) {
      if (ended) {
        throw new Failure("the other end has disconnected");
      }
      ended = connections.stream().anyMatch(each -> each.end().isPresent());
    }
    for (int i = 0; i < completions.count(); i++) {
      if (!completions.isSuccess(i)) {
        throw new Failure(
            "work completion status " + completions.status(i).text(),
            new IllegalStateException(completions.describe(i)));
      }
    }
    return completions;
  }

  void postReceive() {
    if (queue.post(receive) == 0) {
      throw new Failure("rdma_post_recv: the shared receive queue is full");
    }
  }

  /** Ends the connections before what they use is taken away. */
  @Override
  public void close() {
    connections.forEach(Endpoint::close);
    domain.close();
    received.channel().orElseThrow().close();
    sent.channel().orElseThrow().close();
    arena.close();
  }
}
