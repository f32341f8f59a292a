package dev.verbena.programs;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.tools.command.Link;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/** The queue pairs of one end, which send from and receive to the same buffer. */
class PingPongEnd {
  /** The work request id of a receive request. */
  static final int RECEIVE = 1;

  /** The work request id of a send request. */
  static final int SEND = 2;

  private final int depth;
  private final int header;
  private final int size;
  private final MemoryRegion region;
  private final CompletionQueue completions;
  private final SharedReceiveQueue shared;
  private final List<QueuePair> queuePairs = new ArrayList<>();
  private final List<SendList> sends = new ArrayList<>();
  private final ReceiveList receives;

  /**
   * Creates the queue pairs, and makes the transition to INIT, so that receive requests can be
   * posted.
   *
   * @param number the number of queue pairs; more than one have a shared receive queue
   * @param header the size of the buffer before the message
   */
  PingPongEnd(
      PingPongOptions options,
      Context context,
      Arena arena,
      QueuePairType type,
      int number,
      int header) {
    this.depth = options.depth();
    this.size = options.size();
    this.header = header;
    ProtectionDomain domain = context.allocateProtectionDomain();
    region = domain.registerMemory(arena.allocate(header + (long) size), AccessFlag.LOCAL_WRITE);
    completions = completionQueue(context, depth + number, options.events());
    shared = options.isShared() ? SharedReceiveQueue.create(domain, depth) : null;
    for (int i = 0; i < number; i++) {
      QueuePair queuePair = queuePair(domain, type);
      options.apply(queuePair).init();
      queuePairs.add(queuePair);
    }
    receives = new ReceiveList(depth, 1);
    for (int i = 0; i < depth; i++) {
      receives.id(i, RECEIVE);
      receives.local(i, region, 0, header + size);
    }
    postReceives(depth);
    if (options.events()) {
      completions.requestNotification();
    }
  }

  private static CompletionQueue completionQueue(Context context, int entries, boolean events) {
    CompletionQueue.Builder builder = context.completionQueue(entries);
    return (events ? builder.channel(context.createCompletionChannel()) : builder).create();
  }

  private QueuePair queuePair(ProtectionDomain domain, QueuePairType type) {
    QueuePairBuilder builder = QueuePair.builder(domain, type).completions(completions);
    return shared == null
        ? builder.capacity(QueuePairCapacity.of(1).withReceiveRequests(depth)).create()
        : builder
            .sharedReceiveQueue(shared)
            .capacity(QueuePairCapacity.of(1).withReceiveRequests(0).withReceiveSges(0))
            .create();
  }

  List<QueuePairAddress> addresses() {
    return queuePairs.stream().map(QueuePair::localAddress).toList();
  }

  /** Connects the queue pairs, each to one of the peer. */
  final void connect(List<QueuePairAddress> remote) {
    for (int i = 0; i < queuePairs.size(); i++) {
      SendList send = new SendList(1, 1);
      SendRequest request = send.send(0).id(SEND).local(region, header, size).signaled();
      connect(queuePairs.get(i), remote.get(i), request);
      sends.add(send);
    }
  }

  /** Connects a queue pair to one of the peer. */
  void connect(QueuePair queuePair, QueuePairAddress remote, SendRequest request) {
    queuePair.connect(remote);
  }

  CompletionQueue completions() {
    return completions;
  }

  int depth() {
    return depth;
  }

  int number() {
    return queuePairs.size();
  }

  /** Returns the index of the queue pair with a queue pair number. */
  int indexOf(int queuePairNumber) {
    for (int i = 0; i < queuePairs.size(); i++) {
      if (queuePairs.get(i).number() == queuePairNumber) {
        return i;
      }
    }
    throw new IllegalStateException("no queue pair has the number " + queuePairNumber);
  }

  void send(int index) {
    Link.require(queuePairs.get(index).post(sends.get(index)), 1);
  }

  void postReceives(int count) {
    int posted =
        shared == null
            ? queuePairs.getFirst().post(receives, 0, count)
            : shared.post(receives, 0, count);
    Link.require(posted, count);
  }
}
