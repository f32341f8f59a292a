package dev.verbena.soft;

/** The counters of a device. */
final class DeviceCounters {
  long sentPackets;
  long receivedPackets;
  long retransmissions;

  /** Packets that were dropped because of their ICRC. */
  long corruptPackets;

  /** Datagrams that were not valid packets. */
  long malformedPackets;

  /** Packets for which there was no queue pair. */
  long droppedPackets;
}
