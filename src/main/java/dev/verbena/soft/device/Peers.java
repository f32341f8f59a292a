package dev.verbena.soft.device;

import dev.verbena.soft.wire.Gids;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/**
 * The remote ports that a protection domain has address handles for. Each has a number, which all
 * handles for it share; no other of the device has it. Used under the network's lock.
 */
public final class Peers {
  /** The number of a port without an address handle. */
  public static final int UNKNOWN = 0xffff;

  private final BitSet numbers;
  private final Map<Gids, Peer> byGid = new HashMap<>();
  private int version;

  /** A remote port. */
  private static final class Peer {
    private final int number;
    private int handles;

    Peer(int number) {
      this.number = number;
    }
  }

  /**
   * Peers of a domain.
   *
   * @param numbers those that the device uses
   */
  Peers(BitSet numbers) {
    this.numbers = numbers;
  }

  /** Counts an address handle; the result is its number. */
  public int add(Gids gid) {
    Peer peer = byGid.get(gid);
    if (peer == null) {
      peer = new Peer(numbers.nextClearBit(0));
      numbers.set(peer.number);
      byGid.put(gid, peer);
      version++;
    }
    peer.handles++;
    return peer.number;
  }

  /** An address handle is destroyed. */
  public void remove(Gids gid) {
    Peer peer = byGid.get(gid);
    if (--peer.handles == 0) {
      numbers.clear(peer.number);
      byGid.remove(gid);
      version++;
    }
  }

  /** The number of the address handles for a port, or {@link #UNKNOWN}. */
  public int number(Gids gid) {
    Peer peer = byGid.get(gid);
    return peer == null ? UNKNOWN : peer.number;
  }

  /** A number that changes when that of a port may have changed. */
  public int version() {
    return version;
  }
}
