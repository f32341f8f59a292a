package dev.verbena.soft.device;

import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;
import java.util.List;

/** A flow rule in the table of a port. Called under the network's lock. */
public interface FlowEntry {
  /**
   * What a rule applies to.
   *
   * @param type {@code IBV_FLOW_ATTR_NORMAL}, {@code _ALL_DEFAULT}, {@code _MC_DEFAULT}, {@code
   *     _SNIFFER}
   * @param priority 0 is the highest
   * @param traps whether rules of a lower priority do not apply to its frames
   */
  record Match(int type, int priority, boolean traps, List<FlowFilter> filters) {
    /**
     * Whether a frame matches.
     *
     * @param scratch room for {@link EthernetFrame#MAX_FIELDS} bytes
     */
    boolean matches(EthernetFrame frame, byte[] scratch) {
      for (int i = 0; i < filters.size(); i++) {
        if (!filters.get(i).matches(frame, scratch)) {
          return false;
        }
      }
      return true;
    }
  }

  /** Returns what the rule applies to. */
  Match match();

  /** Counts and delivers a frame; frames are numbered. */
  void take(EthernetFrame frame, Packet packet, long frameNumber);
}
