package dev.verbena.sockets;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.TransportType;
import dev.verbena.cm.ConnectionId;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;

/** The queue pair of a stream, with its completion queues, whose events come by one channel. */
final class StreamQueues implements AutoCloseable {
  /** Receive requests of one post. */
  private static final int BATCH = 32;

  private final CompletionChannel channel;
  private final CompletionQueue sends;
  private final CompletionQueue receives;
  private final QueuePair queuePair;

  /** Without SGEs: a message has immediate data only. */
  private final ReceiveList receiveRequests = new ReceiveList(BATCH, 1);

  /**
   * Creates the queue pair of an identifier that has a device, with its receive requests posted.
   *
   * @throws VerbsException if the device has no memory or objects left
   */
  StreamQueues(ConnectionId id, Sizes sizes) {
    Context context = id.context();
    if (context.device().transportType() == TransportType.IWARP) {
      throw new VerbsException(
          "rdma_create_qp",
          Errno.EOPNOTSUPP,
          "RDMA sockets need RDMA write with immediate data, which iWARP does not have: "
              + context.device());
    }
    int posted = sizes.receives() + Sizes.CONTROL_MESSAGES;
    channel = context.createCompletionChannel();
    try {
      sends = context.completionQueue(sizes.sends()).channel(channel).create();
      receives = context.completionQueue(posted).channel(channel).create();
      queuePair =
          id.queues()
              .createQueuePair(
                  QueuePair.builder(id.domain(), QueuePairType.RC)
                      .sendCompletions(sends)
                      .receiveCompletions(receives)
                      .capacity(
                          QueuePairCapacity.of(sizes.sends())
                              .withReceiveRequests(posted)
                              .withMaxInlineData(sizes.inline()))
                      .signalAll());
      postReceives(posted);
    } catch (Throwable t) {
      AfterFailure.close(t, channel::close); // With its queues, and their queue pair.
      throw t;
    }
  }

  CompletionChannel channel() {
    return channel;
  }

  CompletionQueue sends() {
    return sends;
  }

  CompletionQueue receives() {
    return receives;
  }

  QueuePair queuePair() {
    return queuePair;
  }

  void postReceives(int count) {
    for (int left = count; left > 0; left -= BATCH) {
      int batch = Math.min(left, BATCH);
      if (queuePair.post(receiveRequests, 0, batch) < batch) {
        throw new IllegalStateException("the receive queue of the connection is full");
      }
    }
  }

  /** Closes what the identifier does not: each, whether others can be closed or not. */
  @Override
  public void close() {
    try (channel;
        receives) {
      sends.close();
    }
  }
}
