package dev.verbena.soft;

/** Management datagrams (MAD), which queue pair 1 of each port sends and receives. */
final class ManagementDatagram {
  /** The length of a management datagram. */
  static final int LENGTH = 256;

  /** The Q_Key of queue pair 1. */
  static final int QUEUE_KEY = 0x80010000;

  private ManagementDatagram() {}
}
