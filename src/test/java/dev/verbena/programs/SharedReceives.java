package dev.verbena.programs;

import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.tools.command.Failure;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Connections with a shared receive queue, and their memory. */
final class SharedReceives implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** The interval of checks that the peer is still connected. */
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
    queue = SharedReceiveQueue.create(domain, depth);
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
            QueuePair.builder(domain, QueuePairType.RC)
                .sendCompletions(sent)
                .receiveCompletions(received)
                .sharedReceiveQueue(queue)
                .capacity(QueuePairCapacity.of(1).withReceiveRequests(0).withReceiveSges(0)));
    return connection;
  }

  /** Sends over one of the connections, waits for the completion, and returns the queue pair. */
  QueuePair send(int connection) throws InterruptedException {
    QueuePair queuePair = connections.get(connection).id().queuePair().orElseThrow();
    if (queuePair.post(send) == 0) {
      throw new Failure("rdma_post_send: the queue is full");
    }
    await(departures);
    return queuePair;
  }

  /**
   * Sleeps until there are messages; the caller posts as many receive requests again. The result is
   * valid until the next call of this object.
   */
  Completions take() throws InterruptedException {
    return await(messages);
  }

  /**
   * Waits for completions. Receive requests of a shared receive queue are not flushed with a
   * connection, therefore its end is polled.
   */
  private Completions await(CompletionWaiter waiter) throws InterruptedException {
    boolean ended = false;
    while (waiter.poll(completions, WATCH) == 0) {
      if (ended) {
        throw new Failure("the peer has disconnected");
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

  /** Closes the connections before the objects that they use. */
  @Override
  public void close() {
    connections.forEach(Endpoint::close);
    domain.close();
    received.channel().orElseThrow().close();
    sent.channel().orElseThrow().close();
    arena.close();
  }
}
