package dev.verbena.soft.wire;

import org.jspecify.annotations.Nullable;

/** Packets in the order of their arrival. */
public final class PacketQueue {
  private @Nullable Packet first;
  private @Nullable Packet last;
  private int size;

  public boolean isEmpty() {
    return first == null;
  }

  public int size() {
    return size;
  }

  /** The packet that was added last; null if there is none. */
  public @Nullable Packet last() {
    return first == null ? null : last;
  }

  public void add(Packet packet) {
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
  public @Nullable Packet poll() {
    Packet packet = first;
    if (packet != null) {
      first = packet.next;
      packet.next = null;
      size--;
    }
    return packet;
  }

  public void clear(PacketPool pool) {
    for (Packet packet = poll(); packet != null; packet = poll()) {
      pool.release(packet);
    }
  }
}
