package dev.verbena.soft;

/** What a device counts. */
final class DeviceCounters {
  long sentPackets;
  long receivedPackets;
  long retransmissions;

  /** Packets that were dropped because of their ICRC. */
  long corruptPackets;

  /** What arrived and was no packet. */
  long malformedPackets;

  /** Packets that no queue pair took. */
  long droppedPackets;
}
