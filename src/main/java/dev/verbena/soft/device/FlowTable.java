package dev.verbena.soft.device;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The flow rules of a port. Used under the network's lock. */
public final class FlowTable {
  /** Rules of type NORMAL, by priority; of one priority, the oldest first. */
  private final List<FlowEntry> normal = new ArrayList<>();

  private final List<FlowEntry> multicastDefaults = new ArrayList<>();
  private final List<FlowEntry> defaults = new ArrayList<>();
  private final List<FlowEntry> sniffers = new ArrayList<>();
  private final byte[] scratch = new byte[EthernetFrame.MAX_FIELDS];

  /**
   * The number of the current frame. One per port suffices, since each queue pair is at one port.
   */
  private long frames;

  private List<FlowEntry> list(int type) {
    return type == rdma_h.IBV_FLOW_ATTR_NORMAL()
        ? normal
        : type == rdma_h.IBV_FLOW_ATTR_ALL_DEFAULT()
            ? defaults
            : type == rdma_h.IBV_FLOW_ATTR_MC_DEFAULT() ? multicastDefaults : sniffers;
  }

  public void add(FlowEntry flow) {
    list(flow.match().type()).add(flow);
    normal.sort(Comparator.comparingInt(rule -> rule.match().priority()));
  }

  public void remove(FlowEntry flow) {
    list(flow.match().type()).remove(flow);
  }

  /**
   * Delivers a frame: by the rules of type NORMAL that match it and have the highest priority; if
   * there is none, by the default rules; and by the sniffer rules.
   */
  void steer(EthernetFrame frame, Packet packet) {
    frames++;
    boolean trapped = trap(frame, packet);
    if (!trapped && frame.isMulticast()) {
      trapped = deliver(multicastDefaults, frame, packet);
    }
    if (!trapped) {
      deliver(defaults, frame, packet);
    }
    deliver(sniffers, frame, packet);
  }

  private boolean trap(EthernetFrame frame, Packet packet) {
    boolean trapped = false;
    for (int i = 0; i < normal.size(); i++) {
      FlowEntry flow = normal.get(i);
      if (trapped && flow.match().priority() != normal.get(i - 1).match().priority()) {
        return true;
      }
      if (flow.match().matches(frame, scratch)) {
        flow.take(frame, packet, frames);
        trapped |= flow.match().traps();
      }
    }
    return trapped;
  }

  private boolean deliver(List<FlowEntry> flows, EthernetFrame frame, Packet packet) {
    boolean delivered = false;
    for (int i = 0; i < flows.size(); i++) {
      FlowEntry flow = flows.get(i);
      if (flow.match().matches(frame, scratch)) {
        flow.take(frame, packet, frames);
        delivered |= flow.match().traps();
      }
    }
    return delivered;
  }
}
