package dev.verbena.soft;

/** Packets in the order of their arrival. */
final class PacketQueue {
  private Packet first;
  private Packet last;
  private int size;

  boolean isEmpty() {
    return first == null;
  }

  int size() {
    return size;
  }

  /** The packet that was added last; null if there is none. */
  Packet last() {
    return first == null ? null : last;
  }

  void add(Packet packet) {
    packet.next = null;
    if (first == null) {
      first = packet;
    } else {
      last.next = packet;
    }
    last = packet;
    size++;
  }

  /** Takes the oldest packet, or null. */
  Packet poll() {
    Packet packet = first;
    if (packet != null) {
      first = packet.next;
      packet.next = null;
      size--;
    }
    return packet;
  }

  void clear(PacketPool pool) {
    for (Packet packet = poll(); packet != null; packet = poll()) {
      pool.release(packet);
    }
  }
}
