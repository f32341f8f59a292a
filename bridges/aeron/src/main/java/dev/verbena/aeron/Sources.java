package dev.verbena.aeron;

import dev.verbena.address.Gid;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.agrona.collections.Long2ObjectHashMap;

/**
 * The peers whose messages a socket accepts, by their cookies: the part of the {@link Rendezvous}
 * of the end that receives. A cookie is an index of a table and a generation, so that an old one is
 * not taken for that of another peer.
 */
final class Sources {
  private static final int MAX = 1024;
  private static final int MAX_OF_A_HOST = MAX / 4;
  private static final int MAX_UNCONFIRMED = 64;
  private static final int MAX_UNCONFIRMED_OF_A_HOST = MAX_UNCONFIRMED / 4;
  private static final int INDEX_BITS = 10;
  private static final long UNCONFIRMED_NS = 5_000_000_000L;
  private static final long FORGET_NS = 15_000_000_000L;

  /** The second half of a GID of IPv4, without the address. */
  private static final long IPV4_MAPPED = 0xffff_0000_0000L;

  private record Key(InetSocketAddress address, long nonce) {}

  private final DatagramChannel socket;
  private final Queues queues;
  private final TransportCounters counters;
  private final RendezvousFrame in = new RendezvousFrame();
  private final RendezvousFrame out = new RendezvousFrame();
  private final Source[] table = new Source[MAX];
  private final Map<Key, Source> byNonce = new HashMap<>();

  /** Who sends to a group, by address and port. */
  private final Long2ObjectHashMap<InetSocketAddress> members = new Long2ObjectHashMap<>();

  private int generation = RandomGenerator.getDefault().nextInt();
  private int unconfirmed;

  Sources(DatagramChannel socket, Queues queues, TransportCounters counters) {
    this.socket = socket;
    this.queues = queues;
    this.counters = counters;
  }

  /** Returns whether a HELLO is one of a source. */
  boolean has(InetSocketAddress address, RendezvousFrame hello) {
    return byNonce.containsKey(new Key(address, hello.nonce()));
  }

  /**
   * Adds the source of a HELLO if necessary, and answers.
   *
   * @return false if the HELLO is to be dropped
   */
  boolean onHello(RendezvousFrame hello, InetSocketAddress from, long now) {
    Source source = byNonce.get(new Key(from, hello.nonce()));
    if (source == null && makeRoomFor(from)) {
      source = add(from, hello);
    }
    if (source == null || source.number != hello.number()) {
      return false;
    }
    source.lastHello = now;
    source.sequence = hello.sequence();
    source.isAnswered = false;
    welcome(source);
    return true;
  }

  /**
   * Returns whether a source of an address may be added. If there are many that are not confirmed,
   * the one that has been silent for the longest time is removed.
   */
  private boolean makeRoomFor(InetSocketAddress address) {
    int ofHost = 0;
    int unconfirmedOfHost = 0;
    Source oldest = null;
    Source oldestOfHost = null;
    for (Source source : byNonce.values()) {
      boolean isOfHost = source.address.getAddress().equals(address.getAddress());
      ofHost += isOfHost ? 1 : 0;
      if (!source.isConfirmed) {
        oldest = older(source, oldest);
        unconfirmedOfHost += isOfHost ? 1 : 0;
        oldestOfHost = isOfHost ? older(source, oldestOfHost) : oldestOfHost;
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

  private static Source older(Source source, Source other) {
    return other == null || source.lastHello - other.lastHello < 0 ? source : other;
  }

  private Source add(InetSocketAddress address, RendezvousFrame hello) {
    int index = 0;
    while (table[index] != null) {
      index++;
    }
    int cookie = ++generation << INDEX_BITS | index;
    long nonce = hello.nonce();
    Source source = new Source(address, nonce, hello.number(), cookie, queues.request(address));
    table[index] = source;
    byNonce.put(new Key(address, nonce), source);
    unconfirmed++;
    return source;
  }

  /** Answers HELLOs that waited for a queue, and returns whether some wait still. */
  boolean answer() {
    boolean isWaiting = false;
    for (Source source : byNonce.values()) {
      if (!source.isAnswered) {
        welcome(source);
        isWaiting |= !source.isAnswered;
      }
    }
    return isWaiting;
  }

  private void welcome(Source source) {
    DatagramQueue queue = source.queue.result();
    if (queue != null && queue.failure() == null) {
      out.set(RendezvousFrame.Kind.WELCOME, source.nonce, source.sequence);
      out.offer(source.cookie, queue.maximum(), queue.address()).send(socket, source.address);
      source.isAnswered = true;
    }
  }

  /**
   * Returns the sender of the current message of a queue; null if the message is not for Aeron: it
   * is a probe, or of nobody who was welcomed.
   */
  InetSocketAddress of(DatagramQueue queue) {
    if (queue.isOfGroup() && queue.hasCookie()) {
      return member(queue.sourceIp(), queue.cookie() & 0xffff);
    }
    Source source = queue.hasCookie() ? sender(queue) : null;
    boolean isOurs = RendezvousFrame.isType(queue.memory(), queue.offset(), queue.length());
    if (source != null && !isOurs && source.isConfirmed) {
      return source.address;
    }
    if (source == null || !isOurs || !onProbe(queue, source)) {
      counters.dropped.incrementRelease();
    }
    return null;
  }

  private InetSocketAddress member(int ip, int port) {
    long key = (long) ip << Short.SIZE | port;
    InetSocketAddress member = members.get(key);
    if (member == null) {
      if (members.size() == MAX) {
        members.clear();
      }
      Gid mapped = new Gid(0, IPV4_MAPPED | Integer.toUnsignedLong(ip));
      member = new InetSocketAddress(mapped.toInetAddress(), port);
      members.put(key, member);
    }
    return member;
  }

  private Source sender(DatagramQueue queue) {
    Source source = table[queue.cookie() & (MAX - 1)];
    boolean isSender =
        source != null
            && source.cookie == queue.cookie()
            && source.number == queue.sourceNumber()
            && source.queue.result() == queue;
    return isSender ? source : null;
  }

  private boolean onProbe(DatagramQueue queue, Source source) {
    if (!in.read(queue.memory(), queue.offset(), queue.length())
        || in.kind() != RendezvousFrame.Kind.PROBE) {
      return false;
    }
    if (!source.isConfirmed) {
      source.isConfirmed = true;
      unconfirmed--;
    }
    out.set(RendezvousFrame.Kind.PROBED, in.nonce(), in.sequence()).send(socket, source.address);
    return true;
  }

  /** Returns whether messages may come by RDMA. */
  boolean hasConfirmed() {
    return byNonce.size() > unconfirmed;
  }

  /** Removes sources that are silent, and those of a queue that failed. */
  void expire(long now) {
    for (Source source : table) {
      if (source != null && isOver(source, now - source.lastHello)) {
        remove(source);
      }
    }
  }

  private static boolean isOver(Source source, long silentNs) {
    DatagramQueue queue = source.queue.result();
    return silentNs > (source.isConfirmed ? FORGET_NS : UNCONFIRMED_NS)
        || source.queue.failure() != null
        || (queue != null && queue.failure() != null);
  }

  private void remove(Source source) {
    table[source.cookie & (MAX - 1)] = null;
    byNonce.remove(new Key(source.address, source.nonce));
    if (!source.isConfirmed) {
      unconfirmed--;
    }
  }

  /** Tells those who send to here that the socket is being closed. */
  void sayBye() {
    for (Source source : byNonce.values()) {
      if (source.isConfirmed) {
        out.set(RendezvousFrame.Kind.BYE, source.nonce, 0).send(socket, source.address);
      }
    }
  }

  void clear() {
    Arrays.fill(table, null);
    byNonce.clear();
    unconfirmed = 0;
  }
}
