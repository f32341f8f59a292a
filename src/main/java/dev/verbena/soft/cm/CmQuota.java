package dev.verbena.soft.cm;

import dev.verbena.soft.wire.Gids;
import java.util.HashMap;
import java.util.Map;

/**
 * How much of something each source address may occupy, and all of them together: nobody is to lock
 * out the others.
 */
final class CmQuota {
  static final int PER_SOURCE = 128;
  static final int IN_ALL = 1024;

  private final Map<Gids, Integer> taken = new HashMap<>();
  private int all;

  /** Takes a place for an address; false if there is none. */
  boolean take(Gids source) {
    int own = taken.getOrDefault(source, 0);
    if (own >= PER_SOURCE || all >= IN_ALL) {
      return false;
    }
    taken.put(source, own + 1);
    all++;
    return true;
  }

  /** Gives a place back that an address has taken. */
  void release(Gids source) {
    taken.computeIfPresent(source, (address, own) -> own == 1 ? null : own - 1);
    all--;
  }
}
