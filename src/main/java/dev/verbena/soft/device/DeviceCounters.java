package dev.verbena.soft.device;

import java.util.Map;

/** The counters of a device. Change, and are read, under the lock of the engine. */
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

  /** RNR NAKs and NAKs for a sequence error that requesters have received. */
  public long rnrNaks;

  public long sequenceNaks;

  /** Requests that failed after all retries, and after all RNR retries. */
  public long failedRetries;

  public long failedRnrRetries;

  /**
   * Returns the values. Names are those of Soft-RoCE, and of mlx5 for the ICRC, as far as these
   * count the same.
   */
  public Map<String, Long> values() {
    return Map.of(
        "sent_pkts", sentPackets,
        "rcvd_pkts", receivedPackets,
        "completer_retry_err", retransmissions,
        "rx_icrc_encapsulated", corruptPackets,
        "malformed_pkts", malformedPackets,
        "dropped_pkts", droppedPackets,
        "rcvd_rnr_err", rnrNaks,
        "rcvd_seq_err", sequenceNaks,
        "retry_exceeded_err", failedRetries,
        "retry_rnr_exceeded_err", failedRnrRetries);
  }
}
