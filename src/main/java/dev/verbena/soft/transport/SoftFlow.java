package dev.verbena.soft.transport;

import dev.verbena.raw.ibv_flow;
import dev.verbena.soft.device.FlowEntry;
import dev.verbena.soft.device.FlowFilter;
import dev.verbena.soft.device.SoftFlowCounters;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A flow rule: the frames that it matches, and its actions. */
public final class SoftFlow extends SoftObject implements FlowEntry {
  private final SoftQueuePair queuePair;
  private final SoftPort port;

  /** {@code IBV_FLOW_ATTR_NORMAL}, {@code _ALL_DEFAULT}, {@code _MC_DEFAULT}, {@code _SNIFFER}. */
  private final int type;

  private final int priority;
  private final boolean traps;

  private final List<FlowFilter> filters;
  private final Actions actions;

  /**
   * What is done with the frames of a rule.
   *
   * @param tag for the completions, or 0
   * @param drops whether they are discarded
   * @param counters count them, or null
   */
  public record Actions(int tag, boolean drops, @Nullable SoftFlowCounters counters) {}

  public SoftFlow(
      SoftQueuePair queuePair,
      SoftPort port,
      int type,
      int priority,
      boolean traps,
      List<FlowFilter> filters,
      Actions actions) {
    super(
        queuePair.context,
        queuePair.context.struct(ibv_flow.layout()),
        queuePair,
        actions.counters);
    this.queuePair = queuePair;
    this.port = port;
    this.type = type;
    this.priority = priority;
    this.traps = traps;
    this.filters = filters;
    this.actions = actions;
  }

  @Override
  protected void begin() {
    port.flows.add(this);
  }

  @Override
  protected void end() {
    port.flows.remove(this);
  }

  @Override
  public int type() {
    return type;
  }

  @Override
  public int priority() {
    return priority;
  }

  @Override
  public boolean traps() {
    return traps;
  }

  @Override
  public boolean matches(EthernetFrame frame, byte[] scratch) {
    for (int i = 0; i < filters.size(); i++) {
      if (!filters.get(i).matches(frame, scratch)) {
        return false;
      }
    }
    return true;
  }

  /** Counts and delivers a frame, if this frame was not delivered to the queue pair before. */
  @Override
  public void take(EthernetFrame frame, Packet packet, long frameNumber) {
    if (actions.counters != null) {
      actions.counters.count(packet.length);
    }
    if (!actions.drops && queuePair.lastFrame != frameNumber) {
      queuePair.lastFrame = frameNumber;
      queuePair.frames().receive(frame, packet, actions.tag);
    }
  }
}
