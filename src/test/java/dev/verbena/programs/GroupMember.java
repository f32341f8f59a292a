package dev.verbena.programs;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.DatagramParameters;
import dev.verbena.cm.Transfers;
import dev.verbena.tools.command.Failure;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.function.IntConsumer;

/** A queue pair that sends to a multicast group or receives from it. */
final class GroupMember {
  /** The size of the global routing header (GRH) before each received datagram. */
  private static final int ROUTING_HEADER = 40;

  private final ConnectionId id;
  private final int size;
  private final QueuePair queuePair;
  private final Transfers transfers;
  private final MemoryRegion region;
  private final Completions completions = new Completions(16);
  private final SendList send = new SendList(1, 1);

  /**
   * Creates the queue pair of an identifier with a device, with capacity for a number of messages.
   */
  GroupMember(ConnectionId id, Arena arena, int messages, int size) {
    this.id = id;
    this.size = size;
    this.queuePair =
        Steps.attempt(
            "unable to create QP: %d",
            () -> id.queues().createQueuePair(QueuePairCapacity.of(messages)));
    this.transfers = id.queues().transfers();
    this.region =
        Steps.attempt(
            "failed to reg MR",
            () -> transfers.registerMessages(arena.allocate((long) ROUTING_HEADER + size)));
  }

  /** Returns the active MTU of an identifier's port. */
  static int mtu(ConnectionId id) {
    return id.context().port(id.portNumber()).attributes().activeMtu().bytes();
  }

  ConnectionId id() {
    return id;
  }

  void postReceives(int count) {
    for (int i = 0; i < count; i++) {
      if (!transfers.receive(i, region, 0, region.length())) {
        throw new Failure("failed to post receives: the queue is full");
      }
    }
  }

  /**
   * Formats the send requests to the group; with the own queue pair number as immediate data, which
   * the manual's receivers expect.
   */
  void aimAt(DatagramParameters group) {
    AddressHandle handle =
        Steps.attempt(
            "failure creating address handle", () -> id.domain().createAddressHandle(group.path()));
    send.sendWithImmediate(0, queuePair.number())
        .local(region, ROUTING_HEADER, size)
        .to(handle, group.queuePairNumber(), group.queueKey())
        .signaled();
  }

  void send() {
    if (transfers.post(send) == 0) {
      throw new Failure("failed to post sends: the queue is full");
    }
  }

  /** Waits until messages are sent; the queue pair must not be closed before. */
  void awaitSent(int count) throws InterruptedException {
    for (int sent = 0; sent < count; sent += completions.count()) {
      if (transfers.awaitSends(completions, Duration.ofSeconds(10)) == 0) {
        throw new Failure("no completion within 10 s");
      }
      requireGood();
    }
  }

  /** Waits for a number of messages, with a timeout in seconds for each, and reports each. */
  void receive(int count, long patience, IntConsumer told) throws InterruptedException {
    for (int received = 0; received < count; ) {
      if (transfers.awaitReceives(completions, Duration.ofSeconds(patience)) == 0) {
        throw new Failure(
            "%d of %d messages received, none within %d s".formatted(received, count, patience));
      }
      requireGood();
      for (int i = 0; i < completions.count(); i++) {
        received++;
        told.accept(received);
      }
    }
  }

  private void requireGood() {
    for (int i = 0; i < completions.count(); i++) {
      if (!completions.isSuccess(i)) {
        throw new Failure(
            "work completion status " + completions.status(i).text(),
            new IllegalStateException(completions.describe(i)));
      }
    }
  }
}
