package dev.verbena.soft.device;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_flow_spec_eth;
import dev.verbena.raw.ibv_flow_spec_ipv4;
import dev.verbena.raw.ibv_flow_spec_ipv4_ext;
import dev.verbena.raw.ibv_flow_spec_ipv6;
import dev.verbena.raw.ibv_flow_spec_tcp_udp;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.wire.EthernetFrame;
import java.lang.foreign.ValueLayout;

/** The values and the mask that a flow rule has for a header. */
public final class FlowFilter {
  private final int spec;
  private final byte[] values;
  private final byte[] mask;

  private FlowFilter(int spec, byte[] values, byte[] mask) {
    this.spec = spec;
    this.values = values;
    this.mask = mask;
  }

  /**
   * Reads a {@code struct ibv_flow_spec}.
   *
   * @throws VerbsException EOPNOTSUPP if the header is another than Ethernet, IPv4, IPv6, TCP and
   *     UDP
   */
  public static FlowFilter read(int spec, long address) {
    if (spec == rdma_h.IBV_FLOW_SPEC_ETH()) {
      return read(spec, address, ibv_flow_spec_eth.val$offset(), ibv_flow_spec_eth.mask$offset());
    } else if (spec == rdma_h.IBV_FLOW_SPEC_IPV4()) {
      return read(spec, address, ibv_flow_spec_ipv4.val$offset(), ibv_flow_spec_ipv4.mask$offset());
    } else if (spec == rdma_h.IBV_FLOW_SPEC_IPV4_EXT()) {
      return read(
          spec, address, ibv_flow_spec_ipv4_ext.val$offset(), ibv_flow_spec_ipv4_ext.mask$offset());
    } else if (spec == rdma_h.IBV_FLOW_SPEC_IPV6()) {
      return read(spec, address, ibv_flow_spec_ipv6.val$offset(), ibv_flow_spec_ipv6.mask$offset());
    } else if (spec == rdma_h.IBV_FLOW_SPEC_TCP() || spec == rdma_h.IBV_FLOW_SPEC_UDP()) {
      return read(
          spec, address, ibv_flow_spec_tcp_udp.val$offset(), ibv_flow_spec_tcp_udp.mask$offset());
    }
    throw CallFailure.of(Errno.EOPNOTSUPP, "spec type 0x" + Integer.toHexString(spec));
  }

  /** Values and mask are equally long and follow each other. */
  private static FlowFilter read(int spec, long address, long values, long mask) {
    return new FlowFilter(
        spec, bytes(address + values, mask - values), bytes(address + mask, mask - values));
  }

  private static byte[] bytes(long address, long length) {
    return Memory.at(address, length).toArray(ValueLayout.JAVA_BYTE);
  }

  /**
   * Whether a frame has the header, with these values.
   *
   * @param scratch at least {@link EthernetFrame#MAX_FIELDS} bytes
   */
  public boolean matches(EthernetFrame frame, byte[] scratch) {
    int count = frame.fields(spec, scratch);
    for (int i = 0; i < count; i++) {
      if (((scratch[i] ^ values[i]) & mask[i]) != 0) {
        return false;
      }
    }
    return count >= 0;
  }
}
