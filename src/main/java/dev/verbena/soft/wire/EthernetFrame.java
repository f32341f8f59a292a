package dev.verbena.soft.wire;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;

/** An Ethernet frame in memory, as the headers that flow rules, hashes and checksums concern. */
public final class EthernetFrame {
  public static final int HEADER = 14;
  public static final int TAG = 4;
  public static final int TCP = 6;
  public static final int UDP = 17;

  /** The longest header of a flow rule, that of IPv6. */
  public static final int MAX_FIELDS = 40;

  private static final int ADDRESSES = 12;
  private static final int TYPE_IPV4 = 0x0800;
  private static final int TYPE_IPV6 = 0x86dd;
  private static final int TYPE_VLAN = 0x8100;
  private static final int IPV4_HEADER = 20;
  private static final int IPV6_HEADER = 40;
  private static final int IP_CHECKSUM = 10;
  private static final int UDP_CHECKSUM = 6;
  private static final int TCP_CHECKSUM = 16;
  private static final int FRAGMENT_OFFSET = 0x1fff;
  private static final int MORE_FRAGMENTS = 0x2000;

  private long address;
  private int length;
  private boolean tagged;
  private boolean ipv6;
  private boolean fragment;

  /** Where the IP header begins, or 0. */
  private int network;

  /** Where the TCP or UDP header begins, or 0. */
  private int transport;

  /** Where the IP packet ends: a short frame is padded. */
  private int end;

  private int protocol;

  /** Makes it the frame at an address. */
  public EthernetFrame at(long newAddress, int newLength) {
    address = newAddress;
    length = newLength;
    network = 0;
    transport = 0;
    protocol = -1;
    ipv6 = false;
    fragment = false;
    tagged = length >= HEADER + TAG && number(ADDRESSES) == TYPE_VLAN;
    if (length >= HEADER) {
      findHeaders(etherType(), tagged ? HEADER + TAG : HEADER);
    }
    return this;
  }

  private void findHeaders(int type, int start) {
    if (type == TYPE_IPV4 && length >= start + IPV4_HEADER && octet(start) >>> 4 == 4) {
      int header = (octet(start) & 0xf) * 4;
      int flags = number(start + 6);
      fragment = (flags & (FRAGMENT_OFFSET | MORE_FRAGMENTS)) != 0;
      found(start, header, number(start + 2), octet(start + 9), (flags & FRAGMENT_OFFSET) == 0);
    } else if (type == TYPE_IPV6 && length >= start + IPV6_HEADER) {
      ipv6 = true;
      found(start, IPV6_HEADER, IPV6_HEADER + number(start + 4), octet(start + 6), true);
    }
  }

  private void found(int start, int header, int total, int next, boolean first) {
    if (header < IPV4_HEADER || total < header || start + total > length) {
      return;
    }
    network = start;
    end = start + total;
    protocol = next;
    int size = next == TCP ? 20 : 8;
    if (first && (next == TCP || next == UDP) && start + header + size <= end) {
      transport = start + header;
    }
  }

  private int octet(int at) {
    return Byte.toUnsignedInt(Memory.getByte(address + at));
  }

  private int number(int at) {
    return unsignedShort(address + at);
  }

  private void put(int at, int value) {
    Memory.putShort(address + at, Short.reverseBytes((short) value));
  }

  public boolean isTagged() {
    return tagged;
  }

  /** The VLAN tag (TCI), or 0. */
  public int tag() {
    return tagged ? number(HEADER) : 0;
  }

  private int etherType() {
    return number(tagged ? HEADER + 2 : ADDRESSES);
  }

  /** The MAC address that it is for, as 48 bits. */
  public long destination() {
    return (long) number(0) << 32 | (long) number(2) << 16 | number(4);
  }

  public boolean isMulticast() {
    return (octet(0) & 1) != 0;
  }

  public boolean isIpv4() {
    return network != 0 && !ipv6;
  }

  public boolean isIpv6() {
    return ipv6 && network != 0;
  }

  /** Whether it has the header of a transport protocol. */
  public boolean has(int transportProtocol) {
    return transport != 0 && protocol == transportProtocol;
  }

  /** Where the IP header of a frame begins, whatever its length says; 0 if there is none. */
  public static int networkHeaderOf(long address, int length) {
    int start = HEADER;
    if (length >= HEADER + TAG && unsignedShort(address + ADDRESSES) == TYPE_VLAN) {
      start += TAG;
    }
    int type = length < start ? 0 : unsignedShort(address + start - 2);
    int header = type == TYPE_IPV4 ? IPV4_HEADER : type == TYPE_IPV6 ? IPV6_HEADER : length;
    return start + header <= length ? start : 0;
  }

  private static int unsignedShort(long address) {
    return Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(address)));
  }

  /** Where the IP header begins. */
  public int networkHeader() {
    return network;
  }

  /** Where the TCP or UDP header begins. */
  public int transportHeader() {
    return transport;
  }

  /**
   * Copies the fields of a header in the order of its filter in a flow rule.
   *
   * @param spec {@code IBV_FLOW_SPEC_ETH} and so on
   * @return how many bytes, or -1 if the frame does not have the header
   */
  public int fields(int spec, byte[] into) {
    if (spec == rdma_h.IBV_FLOW_SPEC_ETH()) {
      copy(0, ADDRESSES, into, 0);
      put(etherType(), into, 12);
      put(tag(), into, 14);
      return 16;
    } else if (spec == rdma_h.IBV_FLOW_SPEC_IPV4() && isIpv4()) {
      copy(network + 12, 8, into, 0);
      return 8;
    } else if (spec == rdma_h.IBV_FLOW_SPEC_IPV4_EXT() && isIpv4()) {
      copy(network + 12, 8, into, 0);
      into[8] = (byte) octet(network + 9);
      into[9] = (byte) octet(network + 1);
      into[10] = (byte) octet(network + 8);
      into[11] = (byte) (octet(network + 6) >>> 5);
      return 12;
    } else if (spec == rdma_h.IBV_FLOW_SPEC_IPV6() && isIpv6()) {
      copy(network + 8, 32, into, 0);
      put(number(network) & 0xf, into, 32);
      put(number(network + 2), into, 34);
      into[36] = (byte) octet(network + 6);
      into[37] = (byte) (number(network) >>> 4);
      into[38] = (byte) octet(network + 7);
      return 39;
    } else if ((spec == rdma_h.IBV_FLOW_SPEC_UDP() && has(UDP))
        || (spec == rdma_h.IBV_FLOW_SPEC_TCP() && has(TCP))) {
      copy(transport + 2, 2, into, 0);
      copy(transport, 2, into, 2);
      return 4;
    }
    return -1;
  }

  /** Copies bytes of the frame. */
  public void copy(int from, int count, byte[] into, int at) {
    for (int i = 0; i < count; i++) {
      into[at + i] = Memory.getByte(address + from + i);
    }
  }

  private static void put(int value, byte[] into, int at) {
    into[at] = (byte) (value >>> Byte.SIZE);
    into[at + 1] = (byte) value;
  }

  /** Writes the checksums of IPv4, and of TCP or UDP in IPv4 or IPv6. */
  public void fillChecksums() {
    if (isIpv4()) {
      int header = (octet(network) & 0xf) * 4;
      put(network + IP_CHECKSUM, 0);
      put(network + IP_CHECKSUM, ~sum(network, network + header, 0));
    }
    if (transport != 0 && !fragment) {
      int at = checksum();
      put(at, 0);
      int checksum = ~sum(transport, end, pseudoHeader()) & 0xffff;
      put(at, checksum == 0 && protocol == UDP ? 0xffff : checksum);
    }
  }

  /**
   * Whether it is IPv4 and the checksums are right: that of the header, and that of TCP or UDP
   * unless UDP does not use it.
   */
  public boolean hasGoodChecksums() {
    if (!isIpv4()) {
      return false;
    }
    int header = (octet(network) & 0xf) * 4;
    boolean unused = transport == 0 || fragment || (protocol == UDP && number(checksum()) == 0);
    return sum(network, network + header, 0) == 0xffff
        && (unused || sum(transport, end, pseudoHeader()) == 0xffff);
  }

  private int checksum() {
    return transport + (protocol == UDP ? UDP_CHECKSUM : TCP_CHECKSUM);
  }

  /** What the checksums of TCP and UDP cover besides their own bytes. */
  private int pseudoHeader() {
    int sum = protocol + end - transport;
    return ipv6 ? sum(network + 8, network + 40, sum) : sum(network + 12, network + 20, sum);
  }

  /** The sum of RFC 1071. */
  private int sum(int from, int to, int start) {
    long sum = start;
    int at = from;
    for (; at + 1 < to; at += 2) {
      sum += number(at);
    }
    if (at < to) {
      sum += octet(at) << Byte.SIZE;
    }
    while (sum >>> Short.SIZE != 0) {
      sum = (sum & 0xffff) + (sum >>> Short.SIZE);
    }
    return (int) sum;
  }
}
