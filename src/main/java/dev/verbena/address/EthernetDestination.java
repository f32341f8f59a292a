package dev.verbena.address;

import java.util.OptionalInt;

/**
 * The destination of a path on Ethernet.
 *
 * @param address the address of the destination, or of the router to it
 * @param vlan the VLAN ID, or empty if the packets have no tag
 */
public record EthernetDestination(EthernetAddress address, OptionalInt vlan) {
  /** The VLAN ID of packets without a VLAN tag in C. */
  private static final int NO_VLAN = 0xffff;

  /**
   * {@return the destination that {@code ibv_resolve_eth_l2_from_gid} found}
   *
   * @param address the six bytes of the address
   * @param vlan the VLAN ID, or 0xffff for none
   */
  public static EthernetDestination of(byte[] address, short vlan) {
    int number = Short.toUnsignedInt(vlan);
    return new EthernetDestination(
        EthernetAddress.fromBytes(address),
        number == NO_VLAN ? OptionalInt.empty() : OptionalInt.of(number));
  }
}
