package dev.verbena.flow;

import dev.verbena.internal.Ranges;
import dev.verbena.raw.ibv_flow_esp_filter;
import dev.verbena.raw.ibv_flow_eth_filter;
import dev.verbena.raw.ibv_flow_gre_filter;
import dev.verbena.raw.ibv_flow_ipv4_ext_filter;
import dev.verbena.raw.ibv_flow_ipv6_filter;
import dev.verbena.raw.ibv_flow_mpls_filter;
import dev.verbena.raw.ibv_flow_tcp_udp_filter;
import dev.verbena.raw.ibv_flow_tunnel_filter;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** A number in a header: where it is in the filter of C, its size there, and its width. */
enum FlowField {
  ETHER_TYPE(ibv_flow_eth_filter.ether_type$offset(), Short.BYTES, "an EtherType"),
  VLAN_TAG(ibv_flow_eth_filter.vlan_tag$offset(), Short.BYTES, "a VLAN tag"),

  IPV4_SOURCE(ibv_flow_ipv4_ext_filter.src_ip$offset(), Integer.BYTES, "an address"),
  IPV4_DESTINATION(ibv_flow_ipv4_ext_filter.dst_ip$offset(), Integer.BYTES, "an address"),
  IPV4_PROTOCOL(ibv_flow_ipv4_ext_filter.proto$offset(), Byte.BYTES, "a protocol"),
  IPV4_TYPE_OF_SERVICE(ibv_flow_ipv4_ext_filter.tos$offset(), Byte.BYTES, "a type of service"),
  IPV4_TIME_TO_LIVE(ibv_flow_ipv4_ext_filter.ttl$offset(), Byte.BYTES, "a time to live"),
  IPV4_FLAGS(ibv_flow_ipv4_ext_filter.flags$offset(), Byte.BYTES, "a set of flags"),

  IPV6_FLOW_LABEL(ibv_flow_ipv6_filter.flow_label$offset(), Integer.BYTES, 20, "a flow label"),
  IPV6_NEXT_HEADER(ibv_flow_ipv6_filter.next_hdr$offset(), Byte.BYTES, "a next header"),
  IPV6_TRAFFIC_CLASS(ibv_flow_ipv6_filter.traffic_class$offset(), Byte.BYTES, "a traffic class"),
  IPV6_HOP_LIMIT(ibv_flow_ipv6_filter.hop_limit$offset(), Byte.BYTES, "a hop limit"),

  DESTINATION_PORT(ibv_flow_tcp_udp_filter.dst_port$offset(), Short.BYTES, "a port"),
  SOURCE_PORT(ibv_flow_tcp_udp_filter.src_port$offset(), Short.BYTES, "a port"),

  ESP_INDEX(ibv_flow_esp_filter.spi$offset(), Integer.BYTES, "a security parameters index"),
  ESP_SEQUENCE(ibv_flow_esp_filter.seq$offset(), Integer.BYTES, "a sequence number"),

  /** The kernel refuses a value and a mask with more bits. */
  VXLAN_NETWORK(
      ibv_flow_tunnel_filter.tunnel_id$offset(), Integer.BYTES, 24, "a VXLAN network identifier"),

  GRE_FLAGS(ibv_flow_gre_filter.c_ks_res0_ver$offset(), Short.BYTES, "a set of flags"),
  GRE_PROTOCOL(ibv_flow_gre_filter.protocol$offset(), Short.BYTES, "a protocol"),
  GRE_KEY(ibv_flow_gre_filter.key$offset(), Integer.BYTES, "a key"),

  MPLS_ENTRY(ibv_flow_mpls_filter.label$offset(), Integer.BYTES, "an MPLS label entry");

  private final int offset;
  private final int bytes;
  private final int bits;
  private final String what;

  FlowField(long offset, int bytes, String what) {
    this(offset, bytes, bytes * Byte.SIZE, what);
  }

  FlowField(long offset, int bytes, int bits, String what) {
    this.offset = (int) offset;
    this.bytes = bytes;
    this.bits = bits;
    this.what = what;
  }

  int offset() {
    return offset;
  }

  /** Returns the mask of all bits of the number. */
  int ones() {
    return -1 >>> (Integer.SIZE - bits);
  }

  /** Returns a value in network byte order. */
  byte[] value(int number) {
    return toBytes(number, what);
  }

  /** Returns the mask of a value in network byte order. */
  byte[] mask(int number) {
    return toBytes(number, "the mask of " + what);
  }

  private byte[] toBytes(int number, String checked) {
    if (bits < Integer.SIZE) {
      Ranges.bits(number, bits, checked);
    }
    byte[] all = ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
    return Arrays.copyOfRange(all, Integer.BYTES - bytes, Integer.BYTES);
  }
}
