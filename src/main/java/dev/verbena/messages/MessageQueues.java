package dev.verbena.messages;

import dev.verbena.cm.Endpoint;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.life.Core;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;

/** The queue pair of a connection, and the memory of its messages in each direction. */
final class MessageQueues {
  private final QueuePair queuePair;
  private final MessageSlots outgoing;
  private final MessageSlots incoming;
  private final PostedSends sends;
  private final PostedReceives receives;

  /**
   * How many messages there are, and requests.
   *
   * @param messages the number of messages that are sent at a time, each with its memory
   * @param sends the number of send requests
   * @param interval of how many send requests one is signaled; 0 for the last of each post
   * @param receives the number of receive requests, each with memory for a message
   * @param spares how many more there are
   * @param size the maximum size of a message
   */
  record Sizes(int messages, int sends, int interval, int receives, int spares, int size) {
    /** Returns the number of completions, with those of two requests besides the ring. */
    int completions() {
      return Math.addExact(sends + 2, receives);
    }
  }

  /**
   * Creates the queue pair and the memory, and posts the receive requests.
   *
   * @param queue receives all completions
   */
  MessageQueues(Endpoint endpoint, ProtectionDomain domain, CompletionQueue queue, Sizes sizes) {
    queuePair =
        endpoint
            .id()
            .queues()
            .createQueuePair(
                QueuePair.builder(domain, QueuePairType.RC)
                    .completions(queue)
                    .capacity(
                        QueuePairCapacity.of(sizes.sends + 2).withReceiveRequests(sizes.receives)));
    outgoing = new MessageSlots(domain, sizes.messages, sizes.size);
    MessageSlots created = null;
    try {
      created = new MessageSlots(domain, sizes.receives + sizes.spares, sizes.size);
      sends = new PostedSends(queuePair, sizes.sends, sizes.interval);
      receives = new PostedReceives(queuePair, created.receives(), sizes.spares);
    } catch (Throwable t) { // The domain remains, which others use.
      AfterFailure.close(t, outgoing.region()::close);
      if (created != null) {
        AfterFailure.close(t, created.region()::close);
      }
      throw t;
    }
    incoming = created;
  }

  /** Creates a completion queue with a channel, for one connection, which is closed with it. */
  static CompletionQueue queueOf(Endpoint endpoint, Sizes sizes) {
    Context context = endpoint.id().domain().context();
    CompletionChannel channel = context.createCompletionChannel();
    Core.of(channel).closeWith(endpoint.id());
    CompletionQueue queue = context.completionQueue(sizes.completions()).channel(channel).create();
    Core.of(queue).closeWith(endpoint.id());
    return queue;
  }

  QueuePair queuePair() {
    return queuePair;
  }

  MessageSlots outgoing() {
    return outgoing;
  }

  MessageSlots incoming() {
    return incoming;
  }

  PostedSends sends() {
    return sends;
  }

  PostedReceives receives() {
    return receives;
  }

  /**
   * Posts a write of zero bytes besides the ring, which needs no memory of the peer: its device
   * acknowledges it. Returns false if the queue is full.
   */
  boolean probe(long id) {
    SendList nothing = new SendList(1, 1);
    nothing.write(0).id(id).remote(0, 0).signaled();
    return queuePair.post(nothing) == 1;
  }

  /** Frees the memory, before the domain is closed. */
  void close() {
    outgoing.region().close();
    incoming.region().close();
  }
}
