package dev.verbena.messages;

import dev.verbena.cm.ConnectionQueues;
import dev.verbena.cm.Endpoint;
import dev.verbena.internal.life.Core;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The queue pair of a client, with one completion queue, and the memory for requests and answers.
 * All are closed with the endpoint.
 */
final class ClientQueues {
  /** The ids of send requests are those of their slots and this; those of receives are smaller. */
  static final long SEND = 1L << 32;

  private final long stride;
  private final CompletionWaiter waiter;
  private final QueuePair queuePair;
  private final MemoryRegion requests;
  private final MemoryRegion answers;
  private final SendList sends;
  private final ReceiveList receives;

  /** Creates the queues, with a receive request for each request, and one more send request. */
  ClientQueues(Endpoint endpoint, ConnectionSettings settings) {
    int most = settings.sends();
    ProtectionDomain domain = endpoint.id().domain();
    Context context = domain.context();
    ConnectionQueues queues = endpoint.id().queues();
    CompletionChannel channel = context.createCompletionChannel();
    Core.of(channel).closeWith(endpoint.id());
    CompletionQueue queue = context.completionQueue(2 * most + 1).channel(channel).create();
    Core.of(queue).closeWith(endpoint.id());
    waiter = new CompletionWaiter(queue, settings.spin());
    queuePair =
        queues.createQueuePair(
            QueuePair.builder(domain, QueuePairType.RC)
                .completions(queue)
                .capacity(QueuePairCapacity.of(most + 1).withReceiveRequests(most)));
    stride = RequestFrame.stride(settings.messageSize());
    requests = domain.allocateMemory(most * stride, AccessFlag.LOCAL_WRITE);
    answers = domain.allocateMemory(most * stride, AccessFlag.LOCAL_WRITE);
    sends = new SendList(most, 1);
    receives = RequestFrame.receives(answers, most, stride);
    if (queuePair.post(receives) < most) {
      throw new IllegalStateException(queuePair + " takes fewer receive requests than " + most);
    }
  }

  CompletionWaiter waiter() {
    return waiter;
  }

  /** Posts the request of a slot, whose bytes the server reads if it is large. */
  void send(RequestSlot slot, MemorySegment request, @Nullable RemoteMemory large) {
    long at = slot.index * stride;
    MemorySegment memory = requests.memory();
    long length = request.byteSize();
    slot.sequence++;
    RequestFrame.write(
        memory,
        at,
        slot.index,
        slot.sequence,
        large == null ? RequestFrame.REQUEST : RequestFrame.LARGE_REQUEST);
    if (large == null) {
      MemorySegment.copy(request, 0, memory, at + RequestFrame.HEADER, length);
    } else {
      length = RequestFrame.writeRemote(memory, at, large.address(), large.length(), large.rkey());
    }
    sends
        .send(slot.index)
        .id(SEND + slot.index)
        .local(requests, at, RequestFrame.HEADER + length)
        .signaled();
    if (queuePair.post(sends, slot.index, 1) == 0) {
      throw new IllegalStateException(queuePair + " is full, although a slot was free");
    }
  }

  /** Posts one other request; returns false if the queue is full. */
  boolean post(SendList one) {
    return queuePair.post(one) == 1;
  }

  /** Posts a receive request again, whose answer is no longer used. */
  void repost(int receive) {
    if (queuePair.post(receives, receive, 1) == 0) {
      throw new IllegalStateException(queuePair + " is full of receive requests");
    }
  }

  /** Returns the slot that an answer names. */
  int slot(int receive) {
    return RequestFrame.slot(answers.memory(), receive * stride);
  }

  int sequence(int receive) {
    return RequestFrame.sequence(answers.memory(), receive * stride);
  }

  /** Copies the answer that has arrived for a slot; returns its length. */
  int copyAnswer(RequestSlot slot, MemorySegment target) {
    if (isFailure(slot)) {
      throw failure(slot);
    }
    Objects.checkFromIndexSize(0, slot.length, target.byteSize());
    MemorySegment.copy(answers.memory(), bytesAt(slot), target, 0, slot.length);
    return slot.length;
  }

  /** Returns a copy of the answer that has arrived for a slot. */
  byte[] answer(RequestSlot slot) {
    if (isFailure(slot)) {
      throw failure(slot);
    }
    return bytes(slot);
  }

  private boolean isFailure(RequestSlot slot) {
    return RequestFrame.kind(answers.memory(), slot.receive * stride) == RequestFrame.FAILURE;
  }

  private RequestFailedException failure(RequestSlot slot) {
    return new RequestFailedException(new String(bytes(slot), StandardCharsets.UTF_8));
  }

  private byte[] bytes(RequestSlot slot) {
    return answers.memory().asSlice(bytesAt(slot), slot.length).toArray(ValueLayout.JAVA_BYTE);
  }

  private long bytesAt(RequestSlot slot) {
    return slot.receive * stride + RequestFrame.HEADER;
  }
}
