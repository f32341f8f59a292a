package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.fake.FakeDevice.Flow;
import dev.verbena.fake.FakeDevice.FlowHeader;
import dev.verbena.fake.FakeDevice.Qp;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_flow;
import dev.verbena.raw.ibv_flow_attr;
import dev.verbena.raw.ibv_flow_spec_eth;
import dev.verbena.raw.ibv_flow_spec_ipv4;
import dev.verbena.raw.ibv_flow_spec_ipv4_ext;
import dev.verbena.raw.ibv_flow_spec_tcp_udp;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.function.Predicate;

/** Rules that bring frames to queue pairs. */
final class FakeFlows {
  private final FakeDevice device;

  FakeFlows(FakeDevice device) {
    this.device = device;
  }

  public long ibv_create_flow(long qp, long attributes) {
    synchronized (device) {
      Qp target = device.queuePairs.at(qp);
      MemorySegment attr = Memory.at(attributes, ibv_flow_attr.sizeof());
      int port = ibv_flow_attr.port(attr);
      if (target.type != rdma_h.IBV_QPT_RAW_PACKET() || port < 1 || port > FakeDevice.PORTS) {
        throw new VerbsException("ibv_create_flow", Errno.EINVAL);
      }
      if (ibv_flow_attr.flags(attr) != 0) {
        throw new VerbsException("ibv_create_flow", Errno.EOPNOTSUPP, "flags");
      }
      CStruct flow =
          CStruct.in(device.arena, ibv_flow.layout())
              .putLong("context", target.struct.getLong("context"))
              .putInt("handle", device.nextNumber());
      device.flows.add(
          flow.address(),
          new Flow(
              target,
              port,
              ibv_flow_attr.type(attr),
              Short.toUnsignedInt(ibv_flow_attr.priority(attr)),
              headers(
                  Memory.at(attributes, Short.toUnsignedInt(ibv_flow_attr.size(attr))),
                  ibv_flow_attr.num_of_specs(attr))));
      return flow.address();
    }
  }

  public int ibv_destroy_flow(long flow) {
    synchronized (device) {
      device.flows.remove(flow);
      return 0;
    }
  }

  private static List<FlowHeader> headers(MemorySegment rule, int number) {
    List<FlowHeader> headers = new ArrayList<>();
    long at = ibv_flow_attr.sizeof();
    for (int i = 0; i < number; i++) {
      int type = rule.get(ValueLayout.JAVA_INT_UNALIGNED, at);
      int size = Short.toUnsignedInt(rule.get(ValueLayout.JAVA_SHORT_UNALIGNED, at + 4));
      headers.add(header(type, rule.asSlice(at, size)));
      at += size;
    }
    return headers;
  }

  private static FlowHeader header(int type, MemorySegment spec) {
    if (type == rdma_h.IBV_FLOW_SPEC_ETH()) {
      return header(type, spec, ibv_flow_spec_eth.val$offset(), ibv_flow_spec_eth.mask$offset());
    } else if (type == rdma_h.IBV_FLOW_SPEC_IPV4()) {
      return header(type, spec, ibv_flow_spec_ipv4.val$offset(), ibv_flow_spec_ipv4.mask$offset());
    } else if (type == rdma_h.IBV_FLOW_SPEC_IPV4_EXT()) {
      return header(
          type, spec, ibv_flow_spec_ipv4_ext.val$offset(), ibv_flow_spec_ipv4_ext.mask$offset());
    } else if (type == rdma_h.IBV_FLOW_SPEC_UDP() || type == rdma_h.IBV_FLOW_SPEC_TCP()) {
      return header(
          type, spec, ibv_flow_spec_tcp_udp.val$offset(), ibv_flow_spec_tcp_udp.mask$offset());
    }
    throw new VerbsException("ibv_create_flow", Errno.EOPNOTSUPP, "spec type " + type);
  }

  /** Values and mask of a header, which are equally long and follow each other. */
  private static FlowHeader header(int type, MemorySegment spec, long values, long mask) {
    long length = mask - values;
    return new FlowHeader(
        type,
        spec.asSlice(values, length).toArray(ValueLayout.JAVA_BYTE),
        spec.asSlice(mask, length).toArray(ValueLayout.JAVA_BYTE));
  }

  /** Who gets a frame that arrives at a port, each once. */
  Collection<Qp> receivers(FakeFrame frame, int port) {
    LinkedHashSet<Qp> receivers = new LinkedHashSet<>();
    int best =
        device.flows.all().stream()
            .filter(flow -> steers(flow, frame, port))
            .mapToInt(Flow::priority)
            .min()
            .orElse(-1);
    addAll(receivers, flow -> flow.priority() == best && steers(flow, frame, port));
    if (receivers.isEmpty() && frame.isMulticast()) {
      addAll(receivers, flow -> isOf(flow, rdma_h.IBV_FLOW_ATTR_MC_DEFAULT(), port));
    }
    if (receivers.isEmpty()) {
      addAll(receivers, flow -> isOf(flow, rdma_h.IBV_FLOW_ATTR_ALL_DEFAULT(), port));
    }
    addAll(receivers, flow -> isOf(flow, rdma_h.IBV_FLOW_ATTR_SNIFFER(), port));
    return receivers;
  }

  private void addAll(Collection<Qp> receivers, Predicate<Flow> wanted) {
    device.flows.all().stream().filter(wanted).map(Flow::target).forEach(receivers::add);
  }

  private static boolean isOf(Flow flow, int type, int port) {
    return flow.type() == type && flow.port() == port;
  }

  private static boolean steers(Flow flow, FakeFrame frame, int port) {
    return isOf(flow, rdma_h.IBV_FLOW_ATTR_NORMAL(), port)
        && flow.headers().stream().allMatch(header -> matches(header, frame.header(header.type())));
  }

  private static boolean matches(FlowHeader header, byte[] fields) {
    if (fields == null) {
      return false;
    }
    for (int i = 0; i < fields.length; i++) {
      if (((fields[i] ^ header.values()[i]) & header.mask()[i]) != 0) {
        return false;
      }
    }
    return true;
  }
}
