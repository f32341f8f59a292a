package dev.verbena.soft.device;

/** The counters of a device. */
public final class DeviceCounters {
  public long sentPackets;
  public long receivedPackets;
  public long retransmissions;

  /** Packets that were dropped because of their ICRC. */
  public long corruptPackets;

  /** Datagrams that were not valid packets. */
  public long malformedPackets;

  /** Packets for which there was no queue pair. */
  public long droppedPackets;
}
