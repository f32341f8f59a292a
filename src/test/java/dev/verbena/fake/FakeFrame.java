package dev.verbena.fake;

import dev.verbena.raw.rdma_h;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** An Ethernet frame on its way, seen as the headers that flow rules know. */
final class FakeFrame {
  static final int SHORTEST = 14;

  private static final int IPV4 = 0x0800;
  private static final int VLAN = 0x8100;
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int TCP_CHECKSUM = 16;
  private static final int UDP_CHECKSUM = 6;
  private static final int IP_CHECKSUM = 10;

  private final byte[] bytes;
  private final ByteBuffer buffer;
  private final boolean tagged;

  /** Where the IPv4 header begins, and what follows it; 0 if there is none. */
  private final int network;

  private final int transport;

  FakeFrame(byte[] bytes) {
    this.bytes = bytes;
    this.buffer = ByteBuffer.wrap(bytes);
    this.tagged = number(12) == VLAN;
    boolean ip = number(type()) == IPV4 && bytes.length >= type() + 22;
    this.network = ip ? type() + 2 : 0;
    this.transport = ip ? network + (bytes[network] & 0xf) * 4 : 0;
  }

  byte[] bytes() {
    return bytes;
  }

  private int number(int at) {
    return buffer.getShort(at) & 0xffff;
  }

  /** Where the EtherType is. */
  private int type() {
    return tagged ? 16 : 12;
  }

  private int protocol() {
    return network == 0 ? -1 : bytes[network + 9];
  }

  boolean isMulticast() {
    return (bytes[0] & 1) != 0;
  }

  /** A header's fields in the order of the filter for it, or null if the frame has no such one. */
  byte[] header(int spec) {
    if (spec == rdma_h.IBV_FLOW_SPEC_ETH()) {
      ByteBuffer fields =
          ByteBuffer.allocate(16).put(bytes, 0, 12).putShort((short) number(type()));
      return fields.putShort((short) (tagged ? number(14) : 0)).array();
    } else if (spec == rdma_h.IBV_FLOW_SPEC_IPV4() && network != 0) {
      return Arrays.copyOfRange(bytes, network + 12, network + 20);
    } else if (spec == rdma_h.IBV_FLOW_SPEC_IPV4_EXT() && network != 0) {
      ByteBuffer fields = ByteBuffer.allocate(12).put(bytes, network + 12, 8);
      fields.put(bytes[network + 9]).put(bytes[network + 1]).put(bytes[network + 8]);
      return fields.put((byte) ((bytes[network + 6] & 0xff) >>> 5)).array();
    } else if ((spec == rdma_h.IBV_FLOW_SPEC_UDP() && protocol() == UDP)
        || (spec == rdma_h.IBV_FLOW_SPEC_TCP() && protocol() == TCP)) {
      short destination = buffer.getShort(transport + 2);
      return ByteBuffer.allocate(4)
          .putShort(destination)
          .putShort(buffer.getShort(transport))
          .array();
    }
    return null;
  }

  /** Writes the checksums of IPv4 and of what is in it, whatever stood there. */
  void fillChecksums() {
    if (network == 0) {
      return;
    }
    buffer.putShort(network + IP_CHECKSUM, (short) 0);
    buffer.putShort(network + IP_CHECKSUM, (short) ~sum(network, transport, 0));
    if (protocol() == UDP || protocol() == TCP) {
      int at = transport + (protocol() == UDP ? UDP_CHECKSUM : TCP_CHECKSUM);
      buffer.putShort(at, (short) 0);
      int checksum = ~sum(transport, end(), pseudoHeader()) & 0xffff;
      buffer.putShort(at, (short) (checksum == 0 ? 0xffff : checksum));
    }
  }

  /** Whether it is IPv4, and its checksum and the one in it are right or not made use of. */
  boolean checksumsAreRight() {
    boolean unused = protocol() == UDP && number(transport + UDP_CHECKSUM) == 0;
    boolean known = protocol() == UDP || protocol() == TCP;
    return network != 0
        && sum(network, transport, 0) == 0xffff
        && (unused || !known || sum(transport, end(), pseudoHeader()) == 0xffff);
  }

  private int end() {
    return network + number(network + 2);
  }

  /** What the checksums of TCP and UDP cover besides their own bytes. */
  private int pseudoHeader() {
    return sum(network + 12, network + 20, protocol() + end() - transport);
  }

  /** The sum of RFC 1071. */
  private int sum(int from, int to, int start) {
    int sum = start;
    for (int i = from; i < to; i++) {
      sum += (bytes[i] & 0xff) << ((i - from) % 2 == 0 ? Byte.SIZE : 0);
    }
    while (sum >>> Short.SIZE != 0) {
      sum = (sum & 0xffff) + (sum >>> Short.SIZE);
    }
    return sum;
  }
}
