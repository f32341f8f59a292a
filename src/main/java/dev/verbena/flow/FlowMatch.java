package dev.verbena.flow;

import dev.verbena.address.EthernetAddress;
import dev.verbena.internal.Ranges;
import dev.verbena.raw.ibv_flow_eth_filter;
import dev.verbena.raw.ibv_flow_ipv4_ext_filter;
import dev.verbena.raw.ibv_flow_ipv6_filter;
import dev.verbena.raw.ibv_flow_spec_esp;
import dev.verbena.raw.ibv_flow_spec_eth;
import dev.verbena.raw.ibv_flow_spec_gre;
import dev.verbena.raw.ibv_flow_spec_ipv4;
import dev.verbena.raw.ibv_flow_spec_ipv4_ext;
import dev.verbena.raw.ibv_flow_spec_ipv6;
import dev.verbena.raw.ibv_flow_spec_mpls;
import dev.verbena.raw.ibv_flow_spec_tcp_udp;
import dev.verbena.raw.ibv_flow_spec_tunnel;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.GroupLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.function.Function;

/**
 * A header that the packets of a {@linkplain FlowRule flow rule} must have, and the values of its
 * fields: {@code struct ibv_flow_spec}.
 *
 * <p>A field that is not set matches any value. Each field has a method with a mask, of the bits
 * that are compared; the method without a mask compares all of them. Numbers are in Java's byte
 * order.
 */
public abstract sealed class FlowMatch {
  private final FlowSpec spec;

  private FlowMatch(int type, GroupLayout layout) {
    this.spec = FlowSpec.of(type, layout);
  }

  FlowSpec spec() {
    return spec;
  }

  final void number(FlowField field, int value, int mask) {
    spec.set(field.offset(), field.value(value), field.mask(mask));
  }

  /** {@return a match of all Ethernet headers} */
  public static Ethernet ethernet() {
    return new Ethernet();
  }

  /** {@return a match of all IPv4 headers} */
  public static Ipv4 ipv4() {
    return new Ipv4();
  }

  /** {@return a match of all IPv6 headers} */
  public static Ipv6 ipv6() {
    return new Ipv6();
  }

  /** {@return a match of all UDP headers} */
  public static Ports udp() {
    return new Ports(rdma_h.IBV_FLOW_SPEC_UDP());
  }

  /** {@return a match of all TCP headers} */
  public static Ports tcp() {
    return new Ports(rdma_h.IBV_FLOW_SPEC_TCP());
  }

  /** {@return a match of all ESP headers} */
  public static Esp esp() {
    return new Esp();
  }

  /** {@return a match of all VXLAN headers} */
  public static Vxlan vxlan() {
    return new Vxlan();
  }

  /** {@return a match of all GRE headers} */
  public static Gre gre() {
    return new Gre();
  }

  /** {@return a match of all MPLS labels} */
  public static Mpls mpls() {
    return new Mpls();
  }

  /**
   * A header with the addresses of a packet's source and destination.
   *
   * @param <A> the class of the addresses
   * @param <T> the class of the header
   */
  public abstract static sealed class Addresses<A, T extends Addresses<A, T>> extends FlowMatch {
    private final long source;
    private final long destination;
    private final Function<A, byte[]> toBytes;

    private Addresses(
        int type, GroupLayout layout, long source, long destination, Function<A, byte[]> toBytes) {
      super(type, layout);
      this.source = source;
      this.destination = destination;
      this.toBytes = toBytes;
    }

    @SuppressWarnings("unchecked") // Each of its classes is its own T.
    private T address(long offset, A address, byte[] mask) {
      super.spec().set((int) offset, toBytes.apply(address), mask);
      return (T) this;
    }

    /**
     * Matches the source address.
     *
     * @param address an address
     * @return this
     */
    public final T source(A address) {
      return source(address, toBytes.apply(address).length * Byte.SIZE);
    }

    /**
     * Matches the source network.
     *
     * @param address an address of it
     * @param prefix the length of the network prefix in bits
     * @return this
     */
    public final T source(A address, int prefix) {
      return address(source, address, FlowSpec.prefixMask(toBytes.apply(address).length, prefix));
    }

    /**
     * Matches some bits of the source address.
     *
     * @param address an address
     * @param mask the bits that are compared
     * @return this
     */
    public final T source(A address, A mask) {
      return address(source, address, toBytes.apply(mask));
    }

    /**
     * Matches the destination address.
     *
     * @param address an address
     * @return this
     */
    public final T destination(A address) {
      return destination(address, toBytes.apply(address).length * Byte.SIZE);
    }

    /**
     * Matches the destination network.
     *
     * @param address an address of it
     * @param prefix the length of the network prefix in bits
     * @return this
     */
    public final T destination(A address, int prefix) {
      return address(
          destination, address, FlowSpec.prefixMask(toBytes.apply(address).length, prefix));
    }

    /**
     * Matches some bits of the destination address.
     *
     * @param address an address
     * @param mask the bits that are compared
     * @return this
     */
    public final T destination(A address, A mask) {
      return address(destination, address, toBytes.apply(mask));
    }
  }

  /** An Ethernet header: {@code struct ibv_flow_spec_eth}. */
  public static final class Ethernet extends Addresses<EthernetAddress, Ethernet> {
    private Ethernet() {
      super(
          rdma_h.IBV_FLOW_SPEC_ETH(),
          ibv_flow_spec_eth.layout(),
          ibv_flow_eth_filter.src_mac$offset(),
          ibv_flow_eth_filter.dst_mac$offset(),
          EthernetAddress::toBytes);
    }

    /**
     * Matches the EtherType.
     *
     * @param type such as 0x0800
     * @return this
     */
    public Ethernet type(int type) {
      return type(type, FlowField.ETHER_TYPE.ones());
    }

    /**
     * Matches some bits of the EtherType.
     *
     * @param type such as 0x0800
     * @param mask the bits that are compared
     * @return this
     */
    public Ethernet type(int type, int mask) {
      number(FlowField.ETHER_TYPE, type, mask);
      return this;
    }

    /**
     * Matches the VLAN tag.
     *
     * @param tag priority (3 bits), CFI (1), identifier (12)
     * @return this
     */
    public Ethernet vlan(int tag) {
      return vlan(tag, FlowField.VLAN_TAG.ones());
    }

    /**
     * Matches some bits of the VLAN tag.
     *
     * @param tag priority (3 bits), CFI (1), identifier (12)
     * @param mask the bits that are compared
     * @return this
     */
    public Ethernet vlan(int tag, int mask) {
      number(FlowField.VLAN_TAG, tag, mask);
      return this;
    }
  }

  /**
   * An IPv4 header: {@code struct ibv_flow_spec_ipv4}, or {@code struct ibv_flow_spec_ipv4_ext} if
   * fields that only it has are matched.
   */
  public static final class Ipv4 extends Addresses<Inet4Address, Ipv4> {
    private Ipv4() {
      super(
          rdma_h.IBV_FLOW_SPEC_IPV4_EXT(),
          ibv_flow_spec_ipv4_ext.layout(),
          ibv_flow_ipv4_ext_filter.src_ip$offset(),
          ibv_flow_ipv4_ext_filter.dst_ip$offset(),
          InetAddress::getAddress);
    }

    /**
     * Matches the source address.
     *
     * @param address such as 0x0a000123
     * @return this
     */
    public Ipv4 source(int address) {
      number(FlowField.IPV4_SOURCE, address, FlowField.IPV4_SOURCE.ones());
      return this;
    }

    /**
     * Matches the destination address.
     *
     * @param address such as 0x0a000123
     * @return this
     */
    public Ipv4 destination(int address) {
      number(FlowField.IPV4_DESTINATION, address, FlowField.IPV4_DESTINATION.ones());
      return this;
    }

    /**
     * Matches the protocol.
     *
     * @param protocol such as 17 for UDP
     * @return this
     */
    public Ipv4 protocol(int protocol) {
      return protocol(protocol, FlowField.IPV4_PROTOCOL.ones());
    }

    /**
     * Matches some bits of the protocol.
     *
     * @param protocol such as 17 for UDP
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 protocol(int protocol, int mask) {
      number(FlowField.IPV4_PROTOCOL, protocol, mask);
      return this;
    }

    /**
     * Matches the type of service.
     *
     * @param tos the byte of DSCP and ECN
     * @return this
     */
    public Ipv4 typeOfService(int tos) {
      return typeOfService(tos, FlowField.IPV4_TYPE_OF_SERVICE.ones());
    }

    /**
     * Matches some bits of the type of service.
     *
     * @param tos the byte of DSCP and ECN
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 typeOfService(int tos, int mask) {
      number(FlowField.IPV4_TYPE_OF_SERVICE, tos, mask);
      return this;
    }

    /**
     * Matches the time to live.
     *
     * @param ttl the number of remaining hops
     * @return this
     */
    public Ipv4 timeToLive(int ttl) {
      return timeToLive(ttl, FlowField.IPV4_TIME_TO_LIVE.ones());
    }

    /**
     * Matches some bits of the time to live.
     *
     * @param ttl the number of remaining hops
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 timeToLive(int ttl, int mask) {
      number(FlowField.IPV4_TIME_TO_LIVE, ttl, mask);
      return this;
    }

    /**
     * Matches the flags.
     *
     * @param flags the 3 bits before the fragment offset
     * @return this
     */
    public Ipv4 flags(int flags) {
      return flags(flags, FlowField.IPV4_FLAGS.ones());
    }

    /**
     * Matches some bits of the flags.
     *
     * @param flags the 3 bits before the fragment offset
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv4 flags(int flags, int mask) {
      number(FlowField.IPV4_FLAGS, flags, mask);
      return this;
    }

    /** Every device supports the short form, which begins with the same fields. */
    @Override
    FlowSpec spec() {
      return super.spec().shortest(rdma_h.IBV_FLOW_SPEC_IPV4(), ibv_flow_spec_ipv4.layout());
    }
  }

  /** An IPv6 header: {@code struct ibv_flow_spec_ipv6}. */
  public static final class Ipv6 extends Addresses<Inet6Address, Ipv6> {

    private Ipv6() {
      super(
          rdma_h.IBV_FLOW_SPEC_IPV6(),
          ibv_flow_spec_ipv6.layout(),
          ibv_flow_ipv6_filter.src_ip$offset(),
          ibv_flow_ipv6_filter.dst_ip$offset(),
          InetAddress::getAddress);
    }

    /**
     * Matches the flow label.
     *
     * @param label 20 bits
     * @return this
     */
    public Ipv6 flowLabel(int label) {
      return flowLabel(label, FlowField.IPV6_FLOW_LABEL.ones());
    }

    /**
     * Matches some bits of the flow label.
     *
     * @param label 20 bits
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 flowLabel(int label, int mask) {
      number(FlowField.IPV6_FLOW_LABEL, label, mask);
      return this;
    }

    /**
     * Matches the next header.
     *
     * @param protocol such as 17 for UDP
     * @return this
     */
    public Ipv6 nextHeader(int protocol) {
      return nextHeader(protocol, FlowField.IPV6_NEXT_HEADER.ones());
    }

    /**
     * Matches some bits of the next header.
     *
     * @param protocol such as 17 for UDP
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 nextHeader(int protocol, int mask) {
      number(FlowField.IPV6_NEXT_HEADER, protocol, mask);
      return this;
    }

    /**
     * Matches the traffic class.
     *
     * @param trafficClass the byte of DSCP and ECN
     * @return this
     */
    public Ipv6 trafficClass(int trafficClass) {
      return trafficClass(trafficClass, FlowField.IPV6_TRAFFIC_CLASS.ones());
    }

    /**
     * Matches some bits of the traffic class.
     *
     * @param trafficClass the byte of DSCP and ECN
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 trafficClass(int trafficClass, int mask) {
      number(FlowField.IPV6_TRAFFIC_CLASS, trafficClass, mask);
      return this;
    }

    /**
     * Matches the hop limit.
     *
     * @param limit the number of remaining hops
     * @return this
     */
    public Ipv6 hopLimit(int limit) {
      return hopLimit(limit, FlowField.IPV6_HOP_LIMIT.ones());
    }

    /**
     * Matches some bits of the hop limit.
     *
     * @param limit the number of remaining hops
     * @param mask the bits that are compared
     * @return this
     */
    public Ipv6 hopLimit(int limit, int mask) {
      number(FlowField.IPV6_HOP_LIMIT, limit, mask);
      return this;
    }
  }

  /**
   * A TCP or UDP header: {@code struct ibv_flow_spec_tcp_udp}. To match every TCP or UDP packet,
   * match the protocol of the IP header instead.
   */
  public static final class Ports extends FlowMatch {
    private Ports(int type) {
      super(type, ibv_flow_spec_tcp_udp.layout());
    }

    /**
     * Matches the destination port.
     *
     * @param port the port
     * @return this
     */
    public Ports destination(int port) {
      return destination(port, FlowField.DESTINATION_PORT.ones());
    }

    /**
     * Matches some bits of the destination port.
     *
     * @param port the port
     * @param mask the bits that are compared
     * @return this
     */
    public Ports destination(int port, int mask) {
      number(FlowField.DESTINATION_PORT, port, mask);
      return this;
    }

    /**
     * Matches the source port.
     *
     * @param port the port
     * @return this
     */
    public Ports source(int port) {
      return source(port, FlowField.SOURCE_PORT.ones());
    }

    /**
     * Matches some bits of the source port.
     *
     * @param port the port
     * @param mask the bits that are compared
     * @return this
     */
    public Ports source(int port, int mask) {
      number(FlowField.SOURCE_PORT, port, mask);
      return this;
    }
  }

  /** An ESP header: {@code struct ibv_flow_spec_esp}. */
  public static final class Esp extends FlowMatch {
    private Esp() {
      super(rdma_h.IBV_FLOW_SPEC_ESP(), ibv_flow_spec_esp.layout());
    }

    /**
     * Matches the security parameters index.
     *
     * @param index the index
     * @return this
     */
    public Esp securityParametersIndex(int index) {
      return securityParametersIndex(index, FlowField.ESP_INDEX.ones());
    }

    /**
     * Matches some bits of the security parameters index.
     *
     * @param index the index
     * @param mask the bits that are compared
     * @return this
     */
    public Esp securityParametersIndex(int index, int mask) {
      number(FlowField.ESP_INDEX, index, mask);
      return this;
    }

    /**
     * Matches the sequence number.
     *
     * @param number the number
     * @return this
     */
    public Esp sequence(int number) {
      return sequence(number, FlowField.ESP_SEQUENCE.ones());
    }

    /**
     * Matches some bits of the sequence number.
     *
     * @param number the number
     * @param mask the bits that are compared
     * @return this
     */
    public Esp sequence(int number, int mask) {
      number(FlowField.ESP_SEQUENCE, number, mask);
      return this;
    }
  }

  /** A VXLAN header: {@code struct ibv_flow_spec_tunnel}. */
  public static final class Vxlan extends FlowMatch {
    private Vxlan() {
      super(rdma_h.IBV_FLOW_SPEC_VXLAN_TUNNEL(), ibv_flow_spec_tunnel.layout());
    }

    /**
     * Matches the network.
     *
     * @param identifier the VNI, of 24 bits
     * @return this
     */
    public Vxlan network(int identifier) {
      return network(identifier, FlowField.VXLAN_NETWORK.ones());
    }

    /**
     * Matches some bits of the network.
     *
     * @param identifier the VNI, of 24 bits
     * @param mask the bits that are compared
     * @return this
     */
    public Vxlan network(int identifier, int mask) {
      number(FlowField.VXLAN_NETWORK, identifier, mask);
      return this;
    }
  }

  /** A GRE header: {@code struct ibv_flow_spec_gre}. */
  public static final class Gre extends FlowMatch {
    private Gre() {
      super(rdma_h.IBV_FLOW_SPEC_GRE(), ibv_flow_spec_gre.layout());
    }

    /**
     * Matches the protocol.
     *
     * @param protocol an EtherType
     * @return this
     */
    public Gre protocol(int protocol) {
      return protocol(protocol, FlowField.GRE_PROTOCOL.ones());
    }

    /**
     * Matches some bits of the protocol.
     *
     * @param protocol an EtherType
     * @param mask the bits that are compared
     * @return this
     */
    public Gre protocol(int protocol, int mask) {
      number(FlowField.GRE_PROTOCOL, protocol, mask);
      return this;
    }

    /**
     * Matches the key.
     *
     * @param key the key
     * @return this
     */
    public Gre key(int key) {
      return key(key, FlowField.GRE_KEY.ones());
    }

    /**
     * Matches some bits of the key.
     *
     * @param key the key
     * @param mask the bits that are compared
     * @return this
     */
    public Gre key(int key, int mask) {
      number(FlowField.GRE_KEY, key, mask);
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
      number(FlowField.GRE_FLAGS, flags, mask);
      return this;
    }
  }

  /** An MPLS label: {@code struct ibv_flow_spec_mpls}. */
  public static final class Mpls extends FlowMatch {
    private static final int LABEL_BITS = 20;
    private static final int BEHIND = 12;

    private Mpls() {
      super(rdma_h.IBV_FLOW_SPEC_MPLS(), ibv_flow_spec_mpls.layout());
    }

    /**
     * Matches the label.
     *
     * @param label its 20 bits
     * @return this
     */
    public Mpls label(int label) {
      Ranges.bits(label, LABEL_BITS, "an MPLS label");
      return entry(label << BEHIND, -1 << BEHIND);
    }

    /**
     * Matches some bits of the MPLS label entry.
     *
     * @param entry label (20 bits), traffic class (3), bottom of stack (1), time to live (8)
     * @param mask the bits that are compared
     * @return this
     */
    public Mpls entry(int entry, int mask) {
      number(FlowField.MPLS_ENTRY, entry, mask);
      return this;
    }
  }
}
