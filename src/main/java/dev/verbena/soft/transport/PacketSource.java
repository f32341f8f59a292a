package dev.verbena.soft.transport;

import dev.verbena.soft.wire.Packet;

/**
 * The queue pair that a packet names as its source: one object serves all look-ups. It is
 * comparable so that a hash table finds it soon among many with the same hash code, which strangers
 * can choose.
 */
final class PacketSource implements Comparable<PacketSource> {
  private long gidHigh;
  private long gidLow;
  private int number;

  PacketSource of(Packet packet) {
    gidHigh = packet.sourceGidHigh;
    gidLow = packet.sourceGidLow;
    number = packet.sourceNumber;
    return this;
  }

  /** Makes it the destination of a packet. */
  void address(Packet packet) {
    packet.destinationGidHigh = gidHigh;
    packet.destinationGidLow = gidLow;
    packet.destination = number;
  }

  @Override
  public int compareTo(PacketSource other) {
    int order = Long.compare(gidHigh, other.gidHigh);
    order = order != 0 ? order : Long.compare(gidLow, other.gidLow);
    return order != 0 ? order : Integer.compare(number, other.number);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PacketSource source
        && gidHigh == source.gidHigh
        && gidLow == source.gidLow
        && number == source.number;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(gidHigh * 31 + gidLow) * 31 + number;
  }
}
