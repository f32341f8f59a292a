package dev.verbena.aeron;

import dev.verbena.address.Gid;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.DatagramChannel;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * Finds the queue pairs of a socket's peers by frames on the socket itself, and notices when they
 * are lost. For each direction, by the one that sends:
 *
 * <ol>
 *   <li>HELLO by UDP, answered by WELCOME, which has the address of the peer's queue pair;
 *   <li>PROBE, a message to that queue pair, answered by UDP;
 *   <li>then frames are sent by RDMA, with HELLO and PROBE again every {@value #RENEWAL_MS} ms as
 *       long as there are frames. After {@value #MAX_UNANSWERED} without an answer, and after BYE
 *       with its nonce, UDP.
 * </ol>
 *
 * <p>A HELLO changes nothing but a bounded table. An answer counts only with the random number that
 * it answers, and once; a queue pair only if its GID is the IP address that the WELCOME came from.
 */
final class Rendezvous {
  static final int RENEWAL_MS = 250;
  static final int MAX_UNANSWERED = 8;

  private static final int MAX_PATHS = 1024;
  private static final long MS = 1_000_000;
  private static final long FIRST_BACKOFF = 100 * MS;
  private static final long MAX_BACKOFF = 5_000 * MS;
  private static final long WITHOUT_DEVICE = 10_000 * MS;
  private static final long LOOK_AGAIN = MS;
  private static final long IDLE = 3_000 * MS;
  private static final long FORGET = 30_000 * MS;
  private static final long FORGET_UNKNOWN = 6_000 * MS;
  private static final long CLEAN_UP = 1_000 * MS;

  /** How long after its last request an address handle is closed. */
  private static final long RETIRE = 2_000 * MS;

  private record Retired(DatagramQueue queue, Path.Preparation preparation, long time) {}

  private final DatagramChannel socket;
  private final Queues queues;
  private final TransportCounters counters;
  private final Rules rules;
  private final RandomGenerator random;
  private final RendezvousFrame in = new RendezvousFrame();
  private final RendezvousFrame out = new RendezvousFrame();
  private final Map<InetSocketAddress, Path> paths = new HashMap<>();
  private final Sources sources = new Sources();
  private final ArrayDeque<Retired> retired = new ArrayDeque<>();

  private Queues.Request own;
  private InetAddress ownAddress;
  private long retryOwn;
  private boolean isWaiting;
  private long nextLook;
  private long nextCleanUp;

  Rendezvous(
      DatagramChannel socket,
      Queues queues,
      TransportCounters counters,
      Rules rules,
      RandomGenerator random) {
    this.socket = socket;
    this.queues = queues;
    this.counters = counters;
    this.rules = rules;
    this.random = random;
  }

  // Paths

  /** Returns the path to an address; null if there are too many, and the address stays on UDP. */
  Path pathTo(InetSocketAddress peer, long now) {
    Path path = paths.get(peer);
    if (path == null && paths.size() < MAX_PATHS) {
      path = new Path(peer, rules.of(peer), now);
      paths.put(peer, path);
    } else if (path == null) {
      Log.once(Level.WARNING, "no path by RDMA to more than " + MAX_PATHS + " peers of a socket");
    }
    return path;
  }

  /** Ends all paths, and forgets who sends: the socket will be connected elsewhere. */
  void forget(long now) {
    for (Path path : paths.values()) {
      leave(path, Path.State.UDP, "the socket is connected elsewhere");
      retire(path, now);
    }
    paths.clear();
    sources.clear();
  }

  /** Leaves a path whose peer has no socket any more, as its host says. */
  void onUnreachable(InetSocketAddress peer, long now) {
    Path path = paths.get(peer);
    if (path != null && path.state == Path.State.USABLE) {
      leave(path, Path.State.PROBED, "nobody listens at the peer's port");
      path.backoff = FIRST_BACKOFF;
      path.nextStep = now + FIRST_BACKOFF;
    }
  }

  /** Takes the next step of a path whose time has come. */
  void step(Path path, long now) {
    switch (path.state) {
      case QUEUE -> awaitQueue(path, now);
      case WELCOME -> greet(path, now);
      case HANDLE -> awaitHandle(path, now);
      case PROBED -> probe(path, now);
      case USABLE -> renew(path, now);
      case UDP -> path.nextStep = now + FORGET;
    }
  }

  private void awaitQueue(Path path, long now) {
    if (path.request == null) {
      path.request = request(path.peer, now);
    }
    DatagramQueue queue = path.request.queue;
    if (path.request.refusal != null) {
      path.obstacle = path.request.refusal;
      path.request = null;
      path.nextStep = now + WITHOUT_DEVICE;
    } else if (queue != null && queue.failure() != null) {
      path.obstacle = queue.failure();
      path.request = null;
      path.nextStep = now + CLEAN_UP;
    } else if (queue != null) {
      path.queue = queue;
      path.nonce = random.nextLong();
      path.challenge = random.nextLong();
      path.state = Path.State.WELCOME;
      path.obstacle = "the peer has not answered";
      path.backoff = FIRST_BACKOFF / 2;
      greet(path, now);
    } else {
      lookAgain(path, now);
    }
  }

  private void lookAgain(Path path, long now) {
    path.nextStep = now + LOOK_AGAIN;
    isWaiting = true;
  }

  private void greet(Path path, long now) {
    path.backoff = Math.min(2 * path.backoff, MAX_BACKOFF);
    path.nextStep = now + path.backoff;
    path.sequence++;
    hello(path);
  }

  private void awaitHandle(Path path, long now) {
    if (path.preparation.failure != null) {
      path.obstacle = "no address handle: " + path.preparation.failure;
      Log.once(Level.WARNING, path.peer.getAddress() + " stays on UDP: " + path.obstacle);
      path.offer = null;
      path.preparation = null;
      path.state = Path.State.WELCOME;
      path.backoff = MAX_BACKOFF;
      path.nextStep = now + MAX_BACKOFF;
    } else if (path.preparation.handle != null) {
      path.handle = path.preparation.handle;
      beginProbing(path, now, FIRST_BACKOFF / 2);
      probe(path, now);
    } else {
      lookAgain(path, now);
    }
  }

  private void beginProbing(Path path, long now, long backoff) {
    path.state = Path.State.PROBED;
    path.obstacle = "no RDMA message arrives at the peer: is UDP port 4791 filtered?";
    path.backoff = backoff;
    path.nextStep = now;
    path.answered = path.sequence; // What was asked before may have been asked of another queue.
  }

  private void probe(Path path, long now) {
    path.backoff = Math.min(2 * path.backoff, MAX_BACKOFF);
    path.nextStep = now + path.backoff;
    sendBoth(path);
  }

  private void renew(Path path, long now) {
    if (now - path.lastUse > IDLE) {
      leave(path, Path.State.PROBED, "unused for a while");
      beginProbing(path, now, FIRST_BACKOFF / 2);
      probe(path, now);
    } else if (path.unanswered == MAX_UNANSWERED) {
      counters.demotions.incrementRelease();
      leave(path, Path.State.PROBED, MAX_UNANSWERED + " probes without an answer");
      beginProbing(path, now, FIRST_BACKOFF);
      probe(path, now);
    } else {
      path.unanswered++;
      path.nextStep = now + RENEWAL_MS * MS;
      sendBoth(path);
    }
  }

  private void sendBoth(Path path) {
    path.sequence++;
    hello(path);
    out.set(RendezvousFrame.Kind.PROBE, path.challenge, path.sequence);
    // If the queue is full there is another one soon.
    boolean _ = path.queue.send(out.bytes(), path.handle, path.offer);
  }

  private void hello(Path path) {
    out.set(RendezvousFrame.Kind.HELLO, path.nonce, path.sequence).number(path.queue.number());
    send(path.peer);
  }

  /** Sends by UDP, which may lose what it is given. */
  private void send(InetSocketAddress to) {
    try {
      socket.send(out.bytes(), to);
    } catch (IOException | AlreadyConnectedException e) {
      Log.LOGGER.log(Level.DEBUG, () -> "a frame of the rendezvous was not sent to " + to, e);
    }
  }

  /** Makes a path one of UDP, for a while or for good. */
  private void leave(Path path, Path.State next, String reason) {
    if (path.state == Path.State.USABLE) {
      counters.paths.getAndAdd(-1); // Also by the thread that closes the socket.
      Log.LOGGER.log(Level.DEBUG, () -> path.peer + ": UDP, " + reason);
    }
    path.state = next;
    path.obstacle = reason;
  }

  /** Keeps a path on UDP as long as it is used: its frames are too long for RDMA. */
  void stayOnUdp(Path path, int length) {
    counters.tooLong.incrementRelease();
    int maximum = maximum(path);
    leave(
        path,
        Path.State.UDP,
        "frames of %d bytes, where an RDMA message holds %d: set -Daeron.mtu.length=%d, or raise the"
                .formatted(length, maximum, RdmaTransport.mtu(maximum))
            + " MTU of the network");
    Log.once(Level.WARNING, path.peer.getAddress() + " stays on UDP: " + path.obstacle);
    path.nextStep = path.lastUse + FORGET;
  }

  /** Returns the longest frame that a path with an offer carries. */
  static int maximum(Path path) {
    return Math.min(path.offer.maximum(), path.queue.maximum());
  }

  private void retire(Path path, long now) {
    if (path.preparation != null) {
      retired.add(new Retired(path.queue, path.preparation, now));
      path.preparation = null;
      path.handle = null;
    }
  }

  private Queues.Request request(InetSocketAddress peer, long now) {
    InetAddress local = localAddress();
    if (local.isAnyLocalAddress()) {
      return queues.request(local, peer);
    }
    boolean isOver =
        own == null
            || !local.equals(ownAddress)
            || (own.refusal != null && now - retryOwn >= 0)
            || (own.queue != null && own.queue.failure() != null);
    if (isOver) {
      own = queues.request(local, peer);
      ownAddress = local;
      retryOwn = now + WITHOUT_DEVICE / 2;
    }
    return own;
  }

  private InetAddress localAddress() {
    try {
      return ((InetSocketAddress) socket.getLocalAddress()).getAddress();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns whether a path takes a frame, whose stream stays on UDP for good if its frames do not
   * fit.
   */
  boolean admits(Path path, ByteBuffer frame) {
    boolean isMtu = path.noteMtu(frame);
    if (path.offer == null || path.state == Path.State.UDP) {
      return false;
    }
    int length = isMtu ? path.streamMtu : frame.remaining();
    if (length <= maximum(path)) {
      return path.state == Path.State.USABLE;
    }
    if (isMtu || Path.isData(frame)) {
      stayOnUdp(path, length);
    }
    return false;
  }

  /** Returns whether messages may come by RDMA. */
  boolean isReachable() {
    return sources.hasConfirmed();
  }

  // Frames

  /**
   * Handles a frame that came by UDP.
   *
   * @return false if it is one of Aeron
   */
  boolean onDatagram(ByteBuffer buffer, int at, int length, InetSocketAddress from, long now) {
    if (!RendezvousFrame.isType(buffer, at, length)) {
      return false;
    }
    boolean isGood =
        in.read(buffer, at, length)
            && switch (in.kind()) {
              case HELLO -> onHello(from, now);
              case WELCOME -> onWelcome(from, now);
              case PROBED -> onProbed(from, now);
              case BYE -> onBye(from, now);
              case PROBE -> false; // Only by RDMA.
            };
    if (!isGood) {
      counters.dropped.incrementRelease();
    }
    return true;
  }

  private boolean onHello(InetSocketAddress from, long now) {
    if (rules.of(from) == Rules.Rule.UDP) {
      return true;
    }
    Source source = sources.find(from, in.nonce());
    if (source == null) {
      if (!sources.makeRoomFor(from)) {
        return false;
      }
      source = sources.add(from, in.nonce(), in.number(), request(from, now), now);
      askSoon(from, now);
    }
    if (source.number != in.number()) {
      return false;
    }
    source.lastHello = now;
    source.sequence = in.sequence();
    source.isAnswered = false;
    welcome(source);
    return true;
  }

  /** A peer that asks may have the bridge by now. */
  private void askSoon(InetSocketAddress peer, long now) {
    Path path = paths.get(peer);
    if (path != null && (path.state == Path.State.WELCOME || path.state == Path.State.PROBED)) {
      path.backoff = FIRST_BACKOFF / 2;
      path.nextStep = now;
    }
  }

  /** Answers the last HELLO of a source, as soon as there is a queue. */
  private void welcome(Source source) {
    DatagramQueue queue = source.request.queue;
    if (queue == null) {
      isWaiting = true;
    } else if (queue.failure() == null) {
      out.set(RendezvousFrame.Kind.WELCOME, source.nonce, source.sequence);
      out.offer(source.cookie, queue.maximum(), queue.address());
      send(source.address);
      source.isAnswered = true;
    }
  }

  /** Leaves a path whose peer is closing its socket. */
  private boolean onBye(InetSocketAddress from, long now) {
    Path path = paths.get(from);
    if (path == null || path.queue == null || in.nonce() != path.nonce || path.offer == null) {
      return false;
    }
    retire(path, now);
    path.offer = null;
    path.nonce = random.nextLong();
    path.backoff = FIRST_BACKOFF;
    path.nextStep = now + FIRST_BACKOFF;
    leave(path, Path.State.WELCOME, "the peer has closed its socket");
    return true;
  }

  private boolean onWelcome(InetSocketAddress from, long now) {
    Path path = paths.get(from);
    if (path == null
        || path.queue == null
        || in.nonce() != path.nonce
        || in.sequence() - path.welcomed <= 0
        || in.sequence() - path.sequence > 0) {
      return false;
    }
    Offer offer;
    try {
      offer = in.offer();
    } catch (IllegalArgumentException e) {
      Log.LOGGER.log(Level.DEBUG, () -> "a WELCOME of " + from, e);
      return false;
    }
    if (offer.maximum() < RendezvousFrame.SIZE
        || !offer.address().gid().equals(Gid.of(from.getAddress()))) {
      return false;
    }
    path.welcomed = in.sequence();
    if (path.state != Path.State.UDP && !offer.equals(path.offer)) {
      accept(path, offer, now);
    }
    return true;
  }

  private void accept(Path path, Offer offer, long now) {
    if (path.state == Path.State.USABLE) {
      counters.demotions.incrementRelease();
    }
    boolean isSameQueuePair = path.offer != null && path.offer.address().equals(offer.address());
    path.offer = offer;
    if (path.streamMtu > maximum(path)) {
      stayOnUdp(path, path.streamMtu);
      return;
    }
    if (!isSameQueuePair || path.preparation == null) {
      leave(path, Path.State.HANDLE, "the peer has another queue pair");
      retire(path, now);
      prepare(path);
      lookAgain(path, now);
    } else if (path.state != Path.State.HANDLE) {
      leave(path, Path.State.PROBED, "the peer has forgotten the path");
      beginProbing(path, now, FIRST_BACKOFF / 2);
    }
  }

  private static void prepare(Path path) {
    Path.Preparation preparation = new Path.Preparation();
    path.preparation = preparation;
    DatagramQueue queue = path.queue;
    Offer offer = path.offer;
    Worker.run(
        () -> {
          try {
            if (queue.failure() != null) {
              preparation.failure = queue.failure();
            } else {
              preparation.handle = queue.handleTo(offer.address());
            }
          } catch (RuntimeException e) {
            preparation.failure = e.toString();
          } finally {
            if (preparation.handle == null && preparation.failure == null) {
              preparation.failure = "an error, such as of memory";
            }
          }
        });
  }

  private boolean onProbed(InetSocketAddress from, long now) {
    Path path = paths.get(from);
    if (path == null
        || in.nonce() != path.challenge
        || in.sequence() - path.answered <= 0
        || in.sequence() - path.sequence > 0) {
      return false;
    }
    path.answered = in.sequence();
    path.unanswered = 0;
    if (path.state == Path.State.PROBED) {
      path.state = Path.State.USABLE;
      path.nextStep = now + RENEWAL_MS * MS;
      counters.paths.getAndAdd(1);
      Log.LOGGER.log(Level.DEBUG, () -> path.peer + ": RDMA, from " + path.queue);
    }
    return true;
  }

  /**
   * Returns the sender of the current message of a queue; null if the message is not for Aeron: it
   * is a probe, or of nobody who was welcomed.
   */
  InetSocketAddress sourceOf(DatagramQueue queue) {
    Source source = queue.hasCookie() ? sources.of(queue.cookie(), queue.sourceNumber()) : null;
    if (source == null || source.request.queue != queue) {
      counters.dropped.incrementRelease();
      return null;
    }
    if (RendezvousFrame.isType(queue.memory(), queue.offset(), queue.length())) {
      onProbe(queue, source);
      return null;
    }
    if (!source.isConfirmed) {
      counters.dropped.incrementRelease();
      return null;
    }
    return source.address;
  }

  private void onProbe(DatagramQueue queue, Source source) {
    if (in.read(queue.memory(), queue.offset(), queue.length())
        && in.kind() == RendezvousFrame.Kind.PROBE) {
      sources.confirm(source);
      out.set(RendezvousFrame.Kind.PROBED, in.nonce(), in.sequence());
      send(source.address);
    } else {
      counters.dropped.incrementRelease();
    }
  }

  // Time

  /** Takes the steps that wait for the worker, and removes what is over. */
  void tick(long now) {
    if (isWaiting && now - nextLook >= 0) {
      nextLook = now + LOOK_AGAIN;
      isWaiting = false;
      for (Path path : paths.values()) {
        if (path.state == Path.State.HANDLE
            || (path.state == Path.State.QUEUE && path.request != null)) {
          step(path, now);
        }
      }
      for (Source source : sources.all()) {
        if (!source.isAnswered) {
          welcome(source);
        }
      }
    }
    if (now - nextCleanUp >= 0) {
      nextCleanUp = now + CLEAN_UP;
      cleanUp(now);
    }
  }

  private void cleanUp(long now) {
    sources.expire(now);
    for (Iterator<Path> all = paths.values().iterator(); all.hasNext(); ) {
      Path path = all.next();
      if (now - path.lastUse > (path.preparation == null ? FORGET_UNKNOWN : FORGET)) {
        leave(path, Path.State.UDP, "not used any more");
        retire(path, now);
        all.remove();
      }
    }
    for (Retired first = retired.peek();
        first != null && now - first.time() > RETIRE;
        first = retired.peek()) {
      Retired over = retired.remove();
      Worker.run(
          () -> {
            if (over.preparation().handle != null) {
              over.queue().close(over.preparation().handle);
            }
          });
    }
  }

  /** Leaves a queue that failed. */
  void onFailure(DatagramQueue queue, long now) {
    if (!queue.leave()) {
      return;
    }
    Log.once(Level.WARNING, queue.device() + " is left for a while, as a queue of it has failed");
    Log.LOGGER.log(Level.DEBUG, () -> queue.device() + ": " + queue.failure());
    for (Path path : paths.values()) {
      if (path.queue == queue) {
        if (path.state == Path.State.USABLE) {
          counters.demotions.incrementRelease();
        }
        leave(path, Path.State.QUEUE, queue.failure());
        path.queue = null;
        path.request = null;
        path.offer = null;
        path.preparation = null; // The queue closes its handles.
        path.handle = null;
        path.nextStep = now + CLEAN_UP;
      }
    }
    sources.expire(now);
    queues.discard(queue);
  }

  /** Ends all paths, and tells those who have one to here. */
  void close() {
    for (Source source : sources.all()) {
      if (source.isConfirmed) {
        out.set(RendezvousFrame.Kind.BYE, source.nonce, 0);
        send(source.address);
      }
    }
    for (Path path : paths.values()) {
      leave(path, Path.State.UDP, "the channel is closed");
    }
    paths.clear();
  }
}
