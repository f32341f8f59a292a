package dev.verbena.cm;

/**
 * What an {@link Endpoint} does when the hardware address of its network interface changes, as
 * after a fail-over of a bond ({@link EventType#ADDR_CHANGE}). The event is logged in each case.
 */
public enum AddressChange {
  /**
   * Continues: right for a bond whose ports are one RDMA device (RoCE LAG), over which the
   * connection still works. Without an answer of the peer, the retry count ends the connection.
   */
  IGNORE,
  /**
   * Ends the connection: right if the device of the connection is no longer the one behind the
   * address, and a new connection takes another path.
   */
  END
}
