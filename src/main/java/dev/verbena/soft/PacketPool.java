package dev.verbena.soft;

/** Packets that are not in use, so that none is allocated in steady state. */
final class PacketPool {
  private static final int KEPT = 1024;

  private Packet free;
  private int count;

  Packet take() {
    Packet packet = free;
    if (packet == null) {
      return new Packet();
    }
    free = packet.next;
    count--;
    packet.next = null;
    return packet;
  }

  void release(Packet packet) {
    if (count < KEPT) {
      packet.source = null;
      packet.from = null;
      packet.next = free;
      free = packet;
      count++;
    }
  }
}
