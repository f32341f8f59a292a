package dev.verbena.aeron;

import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * The peers whose messages a socket accepts, by their cookies. A cookie is an index of a table and
 * a generation, so that an old one is not taken for that of another peer.
 */
final class Sources {
  private static final int MAX = 1024;
  private static final int MAX_OF_A_HOST = MAX / 4;
  private static final int MAX_UNCONFIRMED = 64;
  private static final int MAX_UNCONFIRMED_OF_A_HOST = MAX_UNCONFIRMED / 4;
  private static final int INDEX_BITS = 10;
  private static final long UNCONFIRMED_NS = 5_000_000_000L;
  private static final long FORGET_NS = 15_000_000_000L;

  private record Key(InetSocketAddress address, long nonce) {}

  private final Source[] table = new Source[MAX];
  private final Map<Key, Source> byNonce = new HashMap<>();
  private int generation = RandomGenerator.getDefault().nextInt();
  private int unconfirmed;

  /** Returns the source of a HELLO; null if it is new. */
  Source find(InetSocketAddress address, long nonce) {
    return byNonce.get(new Key(address, nonce));
  }

  /**
   * Returns whether a source of an address may be added. If there are many that are not confirmed,
   * the one that has been silent for the longest time is removed.
   */
  boolean makeRoomFor(InetSocketAddress address) {
    int ofHost = 0;
    int unconfirmedOfHost = 0;
    Source oldest = null;
    Source oldestOfHost = null;
    for (Source source : byNonce.values()) {
      boolean isOfHost = source.address.getAddress().equals(address.getAddress());
      ofHost += isOfHost ? 1 : 0;
      if (isOfHost && !source.isConfirmed) {
        unconfirmedOfHost++;
        if (oldestOfHost == null || source.lastHello - oldestOfHost.lastHello < 0) {
          oldestOfHost = source;
        }
      }
      if (!source.isConfirmed && (oldest == null || source.lastHello - oldest.lastHello < 0)) {
        oldest = source;
      }
    }
    if (ofHost == MAX_OF_A_HOST) {
      return false;
    }
    if (unconfirmedOfHost == MAX_UNCONFIRMED_OF_A_HOST) {
      remove(oldestOfHost); // Others may send HELLO with the address of the host.
    } else if (unconfirmed == MAX_UNCONFIRMED) {
      remove(oldest);
    }
    return byNonce.size() < MAX;
  }

  Source add(InetSocketAddress address, long nonce, int number, Queues.Request request, long now) {
    int index = 0;
    while (table[index] != null) {
      index++;
    }
    Source source = new Source(address, nonce, number, ++generation << INDEX_BITS | index, request);
    source.lastHello = now;
    table[index] = source;
    byNonce.put(new Key(address, nonce), source);
    unconfirmed++;
    return source;
  }

  /** Returns the source of a message; null if its cookie or its queue pair is another one. */
  Source of(int cookie, int number) {
    Source source = table[cookie & (MAX - 1)];
    return source != null && source.cookie == cookie && source.number == number ? source : null;
  }

  Collection<Source> all() {
    return byNonce.values();
  }

  boolean hasConfirmed() {
    return byNonce.size() > unconfirmed;
  }

  void confirm(Source source) {
    if (!source.isConfirmed) {
      source.isConfirmed = true;
      unconfirmed--;
    }
  }

  /** Removes sources that are silent, and those of a queue that failed. */
  void expire(long now) {
    for (int i = 0; i < MAX; i++) {
      Source source = table[i];
      if (source != null && isOver(source, now - source.lastHello)) {
        remove(source);
      }
    }
  }

  void clear() {
    Arrays.fill(table, null);
    byNonce.clear();
    unconfirmed = 0;
  }

  private void remove(Source source) {
    table[source.cookie & (MAX - 1)] = null;
    byNonce.remove(new Key(source.address, source.nonce));
    if (!source.isConfirmed) {
      unconfirmed--;
    }
  }

  private static boolean isOver(Source source, long silentNs) {
    DatagramQueue queue = source.request.queue;
    return silentNs > (source.isConfirmed ? FORGET_NS : UNCONFIRMED_NS)
        || source.request.refusal != null
        || (queue != null && queue.failure() != null);
  }
}
