package dev.verbena.soft.transport;

import dev.verbena.raw.ibv_flow;
import dev.verbena.soft.device.FlowEntry;
import dev.verbena.soft.device.SoftFlowCounters;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;
import org.jspecify.annotations.Nullable;

/** A flow rule: the frames that it matches, and its actions. */
public final class SoftFlow extends SoftObject implements FlowEntry {
  private final SoftQueuePair queuePair;
  private final SoftPort port;

  private final Match match;
  private final Actions actions;

  /**
   * What is done with the frames of a rule.
   *
   * @param tag for the completions, or 0
   * @param drops whether they are discarded
   * @param counters count them, or null
   */
  public record Actions(int tag, boolean drops, @Nullable SoftFlowCounters counters) {}

  public SoftFlow(SoftQueuePair queuePair, SoftPort port, Match match, Actions actions) {
    super(
        queuePair.context,
        queuePair.context.struct(ibv_flow.layout()),
        queuePair,
        actions.counters);
    this.queuePair = queuePair;
    this.port = port;
    this.match = match;
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
  public Match match() {
    return match;
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
