package dev.verbena.soft.transport;

import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketPool;
import dev.verbena.soft.wire.PacketQueue;
import dev.verbena.soft.wire.Psn;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a queue pair that wait until the responses to a READ are sent. Of what arrives in
 * the meantime it keeps what can be executed or answered afterwards: the requests that follow one
 * another, as many as a requester sends without an answer; one packet after a gap, for which a NAK
 * is due; each duplicate of a READ or atomic request once. Everything else is dropped, and costs no
 * memory.
 */
final class WaitingRequests {
  /**
   * The window: 128 packets without an answer, of this device and of Soft-RoCE, and the READ and
   * atomic requests that do not count among them.
   */
  private static final int WINDOW = 128 + SoftDevice.MAX_READS;

  private final PacketPool pool;
  private final ResponderResources resources;
  private final PacketQueue queue = new PacketQueue();

  /** The PSN after the last request that follows the one before it. */
  private int next;

  /** Whether a packet after a gap waits. */
  private boolean hasGap;

  WaitingRequests(PacketPool pool, ResponderResources resources) {
    this.pool = pool;
    this.resources = resources;
  }

  /** Sets the PSN that is to follow: what comes before it is a duplicate, or waits already. */
  void expect(int psn) {
    next = psn;
    hasGap = false;
  }

  boolean isEmpty() {
    return queue.isEmpty();
  }

  /**
   * Keeps a new request if it can be executed after those that wait.
   *
   * @param packets how many PSNs it takes
   */
  void add(Packet packet, int packets) {
    int ahead = Psn.distance(next, packet.psn);
    if (ahead == 0 && queue.size() < WINDOW && keep(packet)) {
      next = Psn.plus(next, packets);
    } else if (ahead >= 0 && !hasGap) {
      hasGap = keep(packet);
    }
  }

  /** Keeps a duplicate of a READ or atomic request, whose responder resource is at a place. */
  void addRepeat(Packet packet, int place) {
    if (!resources.isWaiting(place) && queue.size() < WINDOW) {
      resources.waiting(place, keep(packet));
    }
  }

  /**
   * Keeps a duplicate of a SEND or a WRITE; those that follow one another are acknowledged at once.
   *
   * @param expected the PSN that was not executed yet
   */
  void addDuplicate(Packet packet, int expected) {
    Packet last = queue.last();
    boolean follows =
        last != null
            && Psn.distance(expected, last.psn) < 0
            && !ResponderResources.serves(Opcode.operation(last.opcode));
    if (!follows) {
      if (queue.size() < WINDOW) {
        boolean _ = keep(packet);
      }
    } else if (Psn.distance(last.psn, packet.psn) > 0) {
      last.psn = packet.psn;
    }
  }

  /** Takes the oldest request, to be given back to {@link PacketPool#releaseWaiting}; or null. */
  @Nullable Packet poll() {
    return queue.poll();
  }

  void clear() {
    for (Packet packet = poll(); packet != null; packet = poll()) {
      pool.releaseWaiting(packet);
    }
  }

  private boolean keep(Packet packet) {
    Packet copy = pool.copyToWait(packet);
    if (copy != null) {
      queue.add(copy);
    }
    return copy != null;
  }
}
