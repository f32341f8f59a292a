package dev.verbena.soft.device;

import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;

/** A flow rule in the table of a port. Called under the network's lock. */
public interface FlowEntry {
  /** Returns the type: {@code IBV_FLOW_ATTR_NORMAL} and so on. */
  int type();

  /** Returns the priority; 0 is the highest. */
  int priority();

  /** Whether rules of a lower priority do not apply to its frames. */
  boolean traps();

  /**
   * Whether a frame matches.
   *
   * @param scratch room for {@link EthernetFrame#MAX_FIELDS} bytes
   */
  boolean matches(EthernetFrame frame, byte[] scratch);

  /** Counts and delivers a frame; frames are numbered. */
  void take(EthernetFrame frame, Packet packet, long frameNumber);
}
