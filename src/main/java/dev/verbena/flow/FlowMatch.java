package dev.verbena.flow;

import dev.verbena.address.EthernetAddress;
import dev.verbena.internal.Ranges;
import dev.verbena.raw.ibv_flow_esp_filter;
import dev.verbena.raw.ibv_flow_eth_filter;
import dev.verbena.raw.ibv_flow_gre_filter;
import dev.verbena.raw.ibv_flow_ipv4_ext_filter;
import dev.verbena.raw.ibv_flow_ipv6_filter;
import dev.verbena.raw.ibv_flow_mpls_filter;
import dev.verbena.raw.ibv_flow_spec_esp;
import dev.verbena.raw.ibv_flow_spec_eth;
import dev.verbena.raw.ibv_flow_spec_gre;
import dev.verbena.raw.ibv_flow_spec_ipv4;
import dev.verbena.raw.ibv_flow_spec_ipv4_ext;
import dev.verbena.raw.ibv_flow_spec_ipv6;
import dev.verbena.raw.ibv_flow_spec_mpls;
import dev.verbena.raw.ibv_flow_spec_tcp_udp;
import dev.verbena.raw.ibv_flow_spec_tunnel;
import dev.verbena.raw.ibv_flow_tcp_udp_filter;
import dev.verbena.raw.ibv_flow_tunnel_filter;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;

/**
 * A header that the packets of a {@linkplain FlowRule flow rule} must have, and the values of its
 * fields: {@code struct ibv_flow_spec}.
 *
 * <p>A field that is not set matches any value. Each field has a method with a mask, of the bits
 * that are compared; the method without a mask compares all of them. Numbers are in Java's byte
 * order.
 */
public abstract sealed class FlowMatch {
  private static final int ALL = -1;
  private static final int BYTE = 0xff;
  private static final int SHORT = 0xffff;

  private final int type;
  private final long val;
  private final long mask;
  private final long filterSize;
  private final MemorySegment spec;

  private FlowMatch(int type, GroupLayout layout, long val, long mask, GroupLayout filter) {
    this.type = type;
    this.val = val;
    this.mask = mask;
    this.filterSize = filter.byteSize();
    // An array of longs, so that the alignments of C hold in it.
    this.spec =
        MemorySegment.ofArray(new long[(int) Math.ceilDiv(layout.byteSize(), Long.BYTES)])
            .asSlice(0, layout.byteSize());
    ibv_flow_spec_eth.type(spec, type);
    ibv_flow_spec_eth.size(spec, (short) layout.byteSize());
  }

  long size() {
    return spec.byteSize();
  }

  /** Writes the specification, for the packet itself or for the inner packet of a tunnel. */
  void writeTo(MemorySegment target, boolean inner) {
    target.copyFrom(spec);
    ibv_flow_spec_eth.type(target, inner ? type | rdma_h.IBV_FLOW_SPEC_INNER() : type);
  }

  int type() {
    return type;
  }

  /** Returns the fields, without type, size and mask. */
  MemorySegment values() {
    return spec.asSlice(val, filterSize);
  }

  /** Sets a number of at most 31 bits and its mask, in network byte order. */
  final void number(long field, int bytes, int bits, int value, int mask, String what) {
    number(
        field,
        bytes,
        Ranges.bits(value, bits, what),
        Ranges.bits(mask, bits, "the mask of " + what));
  }

  /** Sets a number and its mask, in network byte order. */
  final void number(long field, int bytes, int value, int bits) {
    byte[] number = new byte[bytes];
    byte[] compared = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      int shift = Byte.SIZE * (bytes - 1 - i);
      number[i] = (byte) (value >>> shift);
      compared[i] = (byte) (bits >>> shift);
    }
    bytes(field, number, compared);
  }

  /** Sets bytes and their mask. The kernel's driver of mlx5 refuses values outside of the mask. */
  final void bytes(long field, byte[] value, byte[] bits) {
    for (int i = 0; i < value.length; i++) {
      spec.set(ValueLayout.JAVA_BYTE, val + field + i, (byte) (value[i] & bits[i]));
      spec.set(ValueLayout.JAVA_BYTE, mask + field + i, bits[i]);
    }
  }

  /**
   * Returns a match of an Ethernet header.
   *
   * @return a match of all such headers
   */
  public static Ethernet ethernet() {
    return new Ethernet();
  }

  /**
   * Returns a match of an IPv4 header.
   *
   * @return a match of all such headers
   */
  public static Ipv4 ipv4() {
    return new Ipv4();
  }

  /**
   * Returns a match of an IPv6 header.
   *
   * @return a match of all such headers
   */
  public static Ipv6 ipv6() {
    return new Ipv6();
  }

  /**
   * Returns a match of a UDP header. To match every UDP packet, match the protocol of the IP header
   * instead.
   *
   * @return a match of all such headers
   */
  public static Ports udp() {
    return new Ports(rdma_h.IBV_FLOW_SPEC_UDP());
  }

  /**
   * Returns a match of a TCP header. To match every TCP packet, match the protocol of the IP header
   * instead.
   *
   * @return a match of all such headers
   */
  public static Ports tcp() {
    return new Ports(rdma_h.IBV_FLOW_SPEC_TCP());
  }

  /**
   * Returns a match of an ESP header.
   *
   * @return a match of all such headers
   */
  public static Esp esp() {
    return new Esp();
  }

  /**
   * Returns a match of a VXLAN header.
   *
   * @return a match of all such headers
   */
  public static Vxlan vxlan() {
    return new Vxlan();
  }

  /**
   * Returns a match of a GRE header.
   *
   * @return a match of all such headers
   */
  public static Gre gre() {
    return new Gre();
  }

  /**
   * Returns a match of an MPLS label.
   *
   * @return a match of all MPLS labels
   */
  public static Mpls mpls() {
    return new Mpls();
  }

  /** An Ethernet header: {@code struct ibv_flow_spec_eth}. */
  public static final class Ethernet extends FlowMatch {
    private Ethernet() {
      super(
          rdma_h.IBV_FLOW_SPEC_ETH(),
          ibv_flow_spec_eth.layout(),
          ibv_flow_spec_eth.val$offset(),
          ibv_flow_spec_eth.mask$offset(),
          ibv_flow_eth_filter.layout());
    }

    /**
     * Matches the destination address.
     *
     * @param address the MAC address
     * @return this
     */
    public Ethernet destination(EthernetAddress address) {
      return destination(address, EthernetAddress.BROADCAST);
    }

    /**
     * Matches some bits of the destination address.
     *
     * @param address the MAC address
     * @param mask the bits that are compared
     * @return this
     */
    public Ethernet destination(EthernetAddress address, EthernetAddress mask) {
      bytes(ibv_flow_eth_filter.dst_mac$offset(), address.toBytes(), mask.toBytes());
      return this;
    }

    /**
     * Matches the source address.
     *
     * @param address the MAC address
     * @return this
     */
    public Ethernet source(EthernetAddress address) {
      return source(address, EthernetAddress.BROADCAST);
    }

    /**
     * Matches some bits of the source address.
     *
     * @param address the MAC address
     * @param mask the bits that are compared
     * @return this
     */
    public Ethernet source(EthernetAddress address, EthernetAddress mask) {
      bytes(ibv_flow_eth_filter.src_mac$offset(), address.toBytes(), mask.toBytes());
      return this;
    }

    /**
     * Matches the EtherType.
     *
     * @param type such as 0x0800
     * @return this
     */
    public Ethernet type(int type) {
      return type(type, SHORT);
    }

    /**
     * Matches some bits of the EtherType.
     *
     * @param type such as 0x0800
     * @param mask the bits that are compared
     * @return this
     */
    public Ethernet type(int type, int mask) {
      number(
          ibv_flow_eth_filter.ether_type$offset(),
          Short.BYTES,
          Short.SIZE,
          type,
          mask,
          "an EtherType");
      return this;
    }

    /**
     * Matches the VLAN tag.
     *
     * @param tag priority (3 bits), CFI (1), identifier (12)
     * @return this
     */
    public Ethernet vlan(int tag) {
      return vlan(tag, SHORT);
    }

    /**
     * Matches some bits of the VLAN tag.
     *
     * @param tag priority (3 bits), CFI (1), identifier (12)
     * @param mask the bits that are compared
     * @return this
     */
    public Ethernet vlan(int tag, int mask) {
      long field = ibv_flow_eth_filter.vlan_tag$offset();
      number(field, Short.BYTES, Short.SIZE, tag, mask, "a VLAN tag");
      return this;
    }
  }

  /**
   * An IPv4 header: {@code struct ibv_flow_spec_ipv4}, or {@code struct ibv_flow_spec_ipv4_ext} if
   * fields that only it has are matched.
   */
  public static final class Ipv4 extends FlowMatch {
    private boolean addressesOnly = true;

    private Ipv4() {
      super(
          rdma_h.IBV_FLOW_SPEC_IPV4_EXT(),
          ibv_flow_spec_ipv4_ext.layout(),
          ibv_flow_spec_ipv4_ext.val$offset(),
          ibv_flow_spec_ipv4_ext.mask$offset(),
          ibv_flow_ipv4_ext_filter.layout());
    }

    /**
     * Matches the source address.
     *
     * @param address such as 0x0a000123
     * @return this
     */
    public Ipv4 source(int address) {
      number(ibv_flow_ipv4_ext_filter.src_ip$offset(), Integer.BYTES, address, ALL);
      return this;
    }

    /**
     * Matches the source address.
     *
     * @param address an address
     * @return this
     */
    public Ipv4 source(Inet4Address address) {
      return source(address, Integer.SIZE);
    }

    /**
     * Matches the source network.
     *
     * @param address an address of it
     * @param prefix the length of the network prefix in bits
     * @return this
     */
    public Ipv4 source(Inet4Address address, int prefix) {
      byte[] mask = prefixMask(Integer.BYTES, prefix);
      bytes(ibv_flow_ipv4_ext_filter.src_ip$offset(), address.getAddress(), mask);
      return this;
    }

    /**
     * Matches some bits of the source address.
     *
     * @param address an address
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 source(Inet4Address address, Inet4Address mask) {
      bytes(ibv_flow_ipv4_ext_filter.src_ip$offset(), address.getAddress(), mask.getAddress());
      return this;
    }

    /**
     * Matches the destination address.
     *
     * @param address such as 0x0a000123
     * @return this
     */
    public Ipv4 destination(int address) {
      number(ibv_flow_ipv4_ext_filter.dst_ip$offset(), Integer.BYTES, address, ALL);
      return this;
    }

    /**
     * Matches the destination address.
     *
     * @param address an address
     * @return this
     */
    public Ipv4 destination(Inet4Address address) {
      return destination(address, Integer.SIZE);
    }

    /**
     * Matches the destination network.
     *
     * @param address an address of it
     * @param prefix the length of the network prefix in bits
     * @return this
     */
    public Ipv4 destination(Inet4Address address, int prefix) {
      byte[] mask = prefixMask(Integer.BYTES, prefix);
      bytes(ibv_flow_ipv4_ext_filter.dst_ip$offset(), address.getAddress(), mask);
      return this;
    }

    /**
     * Matches some bits of the destination address.
     *
     * @param address an address
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 destination(Inet4Address address, Inet4Address mask) {
      bytes(ibv_flow_ipv4_ext_filter.dst_ip$offset(), address.getAddress(), mask.getAddress());
      return this;
    }

    /**
     * Matches the protocol.
     *
     * @param protocol such as 17 for UDP
     * @return this
     */
    public Ipv4 protocol(int protocol) {
      return protocol(protocol, BYTE);
    }

    /**
     * Matches some bits of the protocol.
     *
     * @param protocol such as 17 for UDP
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 protocol(int protocol, int mask) {
      return more(ibv_flow_ipv4_ext_filter.proto$offset(), protocol, mask, "a protocol");
    }

    /**
     * Matches the type of service.
     *
     * @param tos the byte of DSCP and ECN
     * @return this
     */
    public Ipv4 typeOfService(int tos) {
      return typeOfService(tos, BYTE);
    }

    /**
     * Matches some bits of the type of service.
     *
     * @param tos the byte of DSCP and ECN
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 typeOfService(int tos, int mask) {
      return more(ibv_flow_ipv4_ext_filter.tos$offset(), tos, mask, "a type of service");
    }

    /**
     * Matches the time to live.
     *
     * @param ttl the number of remaining hops
     * @return this
     */
    public Ipv4 timeToLive(int ttl) {
      return timeToLive(ttl, BYTE);
    }

    /**
     * Matches some bits of the time to live.
     *
     * @param ttl the number of remaining hops
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 timeToLive(int ttl, int mask) {
      return more(ibv_flow_ipv4_ext_filter.ttl$offset(), ttl, mask, "a time to live");
    }

    /**
     * Matches the flags.
     *
     * @param flags the 3 bits before the fragment offset
     * @return this
     */
    public Ipv4 flags(int flags) {
      return flags(flags, BYTE);
    }

    /**
     * Matches some bits of the flags.
     *
     * @param flags the 3 bits before the fragment offset
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 flags(int flags, int mask) {
      return more(ibv_flow_ipv4_ext_filter.flags$offset(), flags, mask, "a set of flags");
    }

    private Ipv4 more(long field, int value, int mask, String what) {
      number(field, Byte.BYTES, Byte.SIZE, value, mask, what);
      addressesOnly &= mask == 0;
      return this;
    }

    @Override
    int type() {
      return addressesOnly ? rdma_h.IBV_FLOW_SPEC_IPV4() : super.type();
    }

    @Override
    long size() {
      return addressesOnly ? ibv_flow_spec_ipv4.sizeof() : super.size();
    }

    /** Every device supports the short form, which begins with the same fields. */
    @Override
    void writeTo(MemorySegment target, boolean inner) {
      if (!addressesOnly) {
        super.writeTo(target, inner);
        return;
      }
      long filter = ibv_flow_spec_ipv4.mask$offset() - ibv_flow_spec_ipv4.val$offset();
      MemorySegment whole = MemorySegment.ofArray(new long[(int) super.size()]);
      super.writeTo(whole.asSlice(0, super.size()), inner);
      ibv_flow_spec_ipv4.type(target, type() | (inner ? rdma_h.IBV_FLOW_SPEC_INNER() : 0));
      ibv_flow_spec_ipv4.size(target, (short) size());
      ibv_flow_spec_ipv4.val(target, whole.asSlice(ibv_flow_spec_ipv4_ext.val$offset(), filter));
      ibv_flow_spec_ipv4.mask(target, whole.asSlice(ibv_flow_spec_ipv4_ext.mask$offset(), filter));
    }
  }

  /** An IPv6 header: {@code struct ibv_flow_spec_ipv6}. */
  public static final class Ipv6 extends FlowMatch {
    private static final int ADDRESS = 16;
    private static final int FLOW_LABEL_BITS = 20;

    private Ipv6() {
      super(
          rdma_h.IBV_FLOW_SPEC_IPV6(),
          ibv_flow_spec_ipv6.layout(),
          ibv_flow_spec_ipv6.val$offset(),
          ibv_flow_spec_ipv6.mask$offset(),
          ibv_flow_ipv6_filter.layout());
    }

    /**
     * Matches the source address.
     *
     * @param address an address
     * @return this
     */
    public Ipv6 source(Inet6Address address) {
      return source(address, ADDRESS * Byte.SIZE);
    }

    /**
     * Matches the source network.
     *
     * @param address an address of it
     * @param prefix the length of the network prefix in bits
     * @return this
     */
    public Ipv6 source(Inet6Address address, int prefix) {
      bytes(
          ibv_flow_ipv6_filter.src_ip$offset(), address.getAddress(), prefixMask(ADDRESS, prefix));
      return this;
    }

    /**
     * Matches some bits of the source address.
     *
     * @param address an address
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 source(Inet6Address address, Inet6Address mask) {
      bytes(ibv_flow_ipv6_filter.src_ip$offset(), address.getAddress(), mask.getAddress());
      return this;
    }

    /**
     * Matches the destination address.
     *
     * @param address an address
     * @return this
     */
    public Ipv6 destination(Inet6Address address) {
      return destination(address, ADDRESS * Byte.SIZE);
    }

    /**
     * Matches the destination network.
     *
     * @param address an address of it
     * @param prefix the length of the network prefix in bits
     * @return this
     */
    public Ipv6 destination(Inet6Address address, int prefix) {
      bytes(
          ibv_flow_ipv6_filter.dst_ip$offset(), address.getAddress(), prefixMask(ADDRESS, prefix));
      return this;
    }

    /**
     * Matches some bits of the destination address.
     *
     * @param address an address
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 destination(Inet6Address address, Inet6Address mask) {
      bytes(ibv_flow_ipv6_filter.dst_ip$offset(), address.getAddress(), mask.getAddress());
      return this;
    }

    /**
     * Matches the flow label.
     *
     * @param label 20 bits
     * @return this
     */
    public Ipv6 flowLabel(int label) {
      return flowLabel(label, (1 << FLOW_LABEL_BITS) - 1);
    }

    /**
     * Matches some bits of the flow label.
     *
     * @param label 20 bits
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 flowLabel(int label, int mask) {
      number(
          ibv_flow_ipv6_filter.flow_label$offset(),
          Integer.BYTES,
          FLOW_LABEL_BITS,
          label,
          mask,
          "a flow label");
      return this;
    }

    /**
     * Matches the next header.
     *
     * @param protocol such as 17 for UDP
     * @return this
     */
    public Ipv6 nextHeader(int protocol) {
      return nextHeader(protocol, BYTE);
    }

    /**
     * Matches some bits of the next header.
     *
     * @param protocol such as 17 for UDP
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 nextHeader(int protocol, int mask) {
      number(
          ibv_flow_ipv6_filter.next_hdr$offset(),
          Byte.BYTES,
          Byte.SIZE,
          protocol,
          mask,
          "a next header");
      return this;
    }

    /**
     * Matches the traffic class.
     *
     * @param trafficClass the byte of DSCP and ECN
     * @return this
     */
    public Ipv6 trafficClass(int trafficClass) {
      return trafficClass(trafficClass, BYTE);
    }

    /**
     * Matches some bits of the traffic class.
     *
     * @param trafficClass the byte of DSCP and ECN
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 trafficClass(int trafficClass, int mask) {
      number(
          ibv_flow_ipv6_filter.traffic_class$offset(),
          Byte.BYTES,
          Byte.SIZE,
          trafficClass,
          mask,
          "a traffic class");
      return this;
    }

    /**
     * Matches the hop limit.
     *
     * @param limit the number of remaining hops
     * @return this
     */
    public Ipv6 hopLimit(int limit) {
      return hopLimit(limit, BYTE);
    }

    /**
     * Matches some bits of the hop limit.
     *
     * @param limit the number of remaining hops
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 hopLimit(int limit, int mask) {
      number(
          ibv_flow_ipv6_filter.hop_limit$offset(),
          Byte.BYTES,
          Byte.SIZE,
          limit,
          mask,
          "a hop limit");
      return this;
    }
  }

  private static byte[] prefixMask(int bytes, int prefix) {
    if (prefix < 0 || prefix > bytes * Byte.SIZE) {
      throw new IllegalArgumentException(
          "a prefix of " + prefix + " bits in an address of " + bytes + " bytes");
    }
    byte[] mask = new byte[bytes];
    for (int i = 0; i < prefix; i++) {
      mask[i / Byte.SIZE] |= (byte) (0x80 >>> (i % Byte.SIZE));
    }
    return mask;
  }

  /** A TCP or UDP header: {@code struct ibv_flow_spec_tcp_udp}. */
  public static final class Ports extends FlowMatch {
    private Ports(int type) {
      super(
          type,
          ibv_flow_spec_tcp_udp.layout(),
          ibv_flow_spec_tcp_udp.val$offset(),
          ibv_flow_spec_tcp_udp.mask$offset(),
          ibv_flow_tcp_udp_filter.layout());
    }

    /**
     * Matches the destination port.
     *
     * @param port the port
     * @return this
     */
    public Ports destination(int port) {
      return destination(port, SHORT);
    }

    /**
     * Matches some bits of the destination port.
     *
     * @param port the port
     * @param mask the bits that are compared
     * @return this
     */
    public Ports destination(int port, int mask) {
      number(
          ibv_flow_tcp_udp_filter.dst_port$offset(), Short.BYTES, Short.SIZE, port, mask, "a port");
      return this;
    }

    /**
     * Matches the source port.
     *
     * @param port the port
     * @return this
     */
    public Ports source(int port) {
      return source(port, SHORT);
    }

    /**
     * Matches some bits of the source port.
     *
     * @param port the port
     * @param mask the bits that are compared
     * @return this
     */
    public Ports source(int port, int mask) {
      number(
          ibv_flow_tcp_udp_filter.src_port$offset(), Short.BYTES, Short.SIZE, port, mask, "a port");
      return this;
    }
  }

  /** An ESP header: {@code struct ibv_flow_spec_esp}. */
  public static final class Esp extends FlowMatch {
    private Esp() {
      super(
          rdma_h.IBV_FLOW_SPEC_ESP(),
          ibv_flow_spec_esp.layout(),
          ibv_flow_spec_esp.val$offset(),
          ibv_flow_spec_esp.mask$offset(),
          ibv_flow_esp_filter.layout());
    }

    /**
     * Matches the security parameters index.
     *
     * @param index the index
     * @return this
     */
    public Esp securityParametersIndex(int index) {
      return securityParametersIndex(index, ALL);
    }

    /**
     * Matches some bits of the security parameters index.
     *
     * @param index the index
     * @param mask the bits that are compared
     * @return this
     */
    public Esp securityParametersIndex(int index, int mask) {
      number(ibv_flow_esp_filter.spi$offset(), Integer.BYTES, index, mask);
      return this;
    }

    /**
     * Matches the sequence number.
     *
     * @param number the number
     * @return this
     */
    public Esp sequence(int number) {
      return sequence(number, ALL);
    }

    /**
     * Matches some bits of the sequence number.
     *
     * @param number the number
     * @param mask the bits that are compared
     * @return this
     */
    public Esp sequence(int number, int mask) {
      number(ibv_flow_esp_filter.seq$offset(), Integer.BYTES, number, mask);
      return this;
    }
  }

  /** A VXLAN header: {@code struct ibv_flow_spec_tunnel}. */
  public static final class Vxlan extends FlowMatch {
    /** The kernel refuses a value and a mask with more bits. */
    private static final int NETWORK_BITS = 24;

    private Vxlan() {
      super(
          rdma_h.IBV_FLOW_SPEC_VXLAN_TUNNEL(),
          ibv_flow_spec_tunnel.layout(),
          ibv_flow_spec_tunnel.val$offset(),
          ibv_flow_spec_tunnel.mask$offset(),
          ibv_flow_tunnel_filter.layout());
    }

    /**
     * Matches the network.
     *
     * @param identifier the VNI, of 24 bits
     * @return this
     */
    public Vxlan network(int identifier) {
      return network(identifier, (1 << NETWORK_BITS) - 1);
    }

    /**
     * Matches some bits of the network.
     *
     * @param identifier the VNI, of 24 bits
     * @param mask the bits that are compared
     * @return this
     */
    public Vxlan network(int identifier, int mask) {
      number(
          ibv_flow_tunnel_filter.tunnel_id$offset(),
          Integer.BYTES,
          NETWORK_BITS,
          identifier,
          mask,
          "a VXLAN network identifier");
      return this;
    }
  }

  /** A GRE header: {@code struct ibv_flow_spec_gre}. */
  public static final class Gre extends FlowMatch {
    private Gre() {
      super(
          rdma_h.IBV_FLOW_SPEC_GRE(),
          ibv_flow_spec_gre.layout(),
          ibv_flow_spec_gre.val$offset(),
          ibv_flow_spec_gre.mask$offset(),
          ibv_flow_gre_filter.layout());
    }

    /**
     * Matches the protocol.
     *
     * @param protocol an EtherType
     * @return this
     */
    public Gre protocol(int protocol) {
      return protocol(protocol, SHORT);
    }

    /**
     * Matches some bits of the protocol.
     *
     * @param protocol an EtherType
     * @param mask the bits that are compared
     * @return this
     */
    public Gre protocol(int protocol, int mask) {
      number(
          ibv_flow_gre_filter.protocol$offset(),
          Short.BYTES,
          Short.SIZE,
          protocol,
          mask,
          "a protocol");
      return this;
    }

    /**
     * Matches the key.
     *
     * @param key the key
     * @return this
     */
    public Gre key(int key) {
      return key(key, ALL);
    }

    /**
     * Matches some bits of the key.
     *
     * @param key the key
     * @param mask the bits that are compared
     * @return this
     */
    public Gre key(int key, int mask) {
      number(ibv_flow_gre_filter.key$offset(), Integer.BYTES, key, mask);
      return this;
    }

    /**
     * Matches flags and version: the first 16 bits of the header.
     *
     * @param flags the flags and version
     * @param mask the bits that are compared
     * @return this
     */
    public Gre flags(int flags, int mask) {
      long field = ibv_flow_gre_filter.c_ks_res0_ver$offset();
      number(field, Short.BYTES, Short.SIZE, flags, mask, "a set of flags");
      return this;
    }
  }

  /** An MPLS label: {@code struct ibv_flow_spec_mpls}. */
  public static final class Mpls extends FlowMatch {
    private static final int LABEL_BITS = 20;
    private static final int BEHIND = 12;

    private Mpls() {
      super(
          rdma_h.IBV_FLOW_SPEC_MPLS(),
          ibv_flow_spec_mpls.layout(),
          ibv_flow_spec_mpls.val$offset(),
          ibv_flow_spec_mpls.mask$offset(),
          ibv_flow_mpls_filter.layout());
    }

    /**
     * Matches the label.
     *
     * @param label its 20 bits
     * @return this
     */
    public Mpls label(int label) {
      Ranges.bits(label, LABEL_BITS, "an MPLS label");
      return entry(label << BEHIND, ALL << BEHIND);
    }

    /**
     * Matches some bits of the MPLS label entry.
     *
     * @param entry label (20 bits), traffic class (3), bottom of stack (1), time to live (8)
     * @param mask the bits that are compared
     * @return this
     */
    public Mpls entry(int entry, int mask) {
      number(ibv_flow_mpls_filter.label$offset(), Integer.BYTES, entry, mask);
      return this;
    }
  }
}
