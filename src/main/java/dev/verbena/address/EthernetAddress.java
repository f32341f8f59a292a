package dev.verbena.address;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * An Ethernet (MAC) address.
 *
 * @param number the 48 bits, as a number
 */
public record EthernetAddress(long number) {
  /** The address of all ports: all bits are ones. */
  public static final EthernetAddress BROADCAST = new EthernetAddress(0xffff_ffff_ffffL);

  /** The number of bytes. */
  public static final int SIZE = 6;

  private static final HexFormat FORM = HexFormat.ofDelimiter(":");
  private static final Pattern TEXT = Pattern.compile("\\p{XDigit}{2}(:\\p{XDigit}{2}){5}");

  /**
   * Creates an address.
   *
   * @param number the 48 bits, as a number
   */
  public EthernetAddress {
    if (number >>> (Byte.SIZE * SIZE) != 0) {
      throw new IllegalArgumentException(
          "an Ethernet address has 48 bits: 0x" + Long.toHexString(number));
    }
  }

  /**
   * {@return the address of its bytes}
   *
   * @param bytes 6 bytes, in the order of packets
   */
  public static EthernetAddress fromBytes(byte[] bytes) {
    if (bytes.length != SIZE) {
      throw new IllegalArgumentException("an Ethernet address has 6 bytes: " + bytes.length);
    }
    return new EthernetAddress(ByteBuffer.allocate(Long.BYTES).put(2, bytes).getLong(0));
  }

  /**
   * {@return the address of its text form}
   *
   * @param text such as {@code 02:00:00:00:00:0a}
   */
  public static EthernetAddress parse(String text) {
    if (!TEXT.matcher(text).matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is not an Ethernet address such as 02:00:00:00:00:0a");
    }
    return fromBytes(FORM.parseHex(text));
  }

  /** {@return the 6 bytes of the address, in the order of packets} */
  public byte[] toBytes() {
    byte[] bytes = ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    return Arrays.copyOfRange(bytes, Long.BYTES - SIZE, Long.BYTES);
  }

  /** {@return the text form of the address, such as {@code 02:00:00:00:00:0a}} */
  @Override
  public String toString() {
    return FORM.formatHex(toBytes());
  }
}
