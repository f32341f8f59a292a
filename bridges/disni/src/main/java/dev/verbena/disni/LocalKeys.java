package dev.verbena.disni;

import java.util.Arrays;

/**
 * The local keys of a protection domain's regions, by their remote keys, where both differ.
 *
 * <p>Programs pass the local key of a region to peers, as DiSNI's own examples do: with the devices
 * of most drivers it is the remote key, too, but not with software devices, or EFA. Such a region
 * says its remote key for both. Work requests need the local key.
 */
final class LocalKeys {
  /** Sorted; each has the remote key in its upper half. Replaced, never changed. */
  private volatile long[] pairs = {};

  private static long pair(int remote, int local) {
    return (long) remote << Integer.SIZE | Integer.toUnsignedLong(local);
  }

  synchronized void add(int remote, int local) {
    long[] more = Arrays.copyOf(pairs, pairs.length + 1);
    more[pairs.length] = pair(remote, local);
    Arrays.sort(more);
    pairs = more;
  }

  /** Nothing happens if it is not there. */
  synchronized void remove(int remote, int local) {
    long[] known = pairs;
    int at = Arrays.binarySearch(known, pair(remote, local));
    if (at >= 0) {
      long[] fewer = Arrays.copyOf(known, known.length - 1);
      System.arraycopy(known, at + 1, fewer, at, fewer.length - at);
      pairs = fewer;
    }
  }

  /** Returns the local key for the key of an SGE. */
  int of(int key) {
    long[] known = pairs;
    int found = Arrays.binarySearch(known, pair(key, 0));
    int at = found < 0 ? -found - 1 : found;
    return at < known.length && (int) (known[at] >>> Integer.SIZE) == key ? (int) known[at] : key;
  }
}
