package dev.verbena.verbs;

import java.util.HexFormat;
import java.util.OptionalInt;

/**
 * The destination of a path on Ethernet.
 *
 * @param address the hardware address, such as {@code 02:00:00:00:0a:01}
 * @param vlan the VLAN ID, or empty if the packets have no tag
 */
public record EthernetAddress(String address, OptionalInt vlan) {
  static final int SIZE = 6;

  /** The VLAN ID of packets without a VLAN tag in C. */
  private static final int NO_VLAN = 0xffff;

  static EthernetAddress of(byte[] address, short vlan) {
    int number = Short.toUnsignedInt(vlan);
    return new EthernetAddress(
        HexFormat.ofDelimiter(":").formatHex(address),
        number == NO_VLAN ? OptionalInt.empty() : OptionalInt.of(number));
  }
}
