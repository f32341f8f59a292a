package dev.verbena.soft.wire;

/** Management datagrams (MAD), which queue pair 1 of each port sends and receives. */
public final class ManagementDatagram {
  /** The length of a management datagram. */
  public static final int LENGTH = 256;

  /** The Q_Key of queue pair 1. */
  public static final int QUEUE_KEY = 0x80010000;

  private ManagementDatagram() {}
}
