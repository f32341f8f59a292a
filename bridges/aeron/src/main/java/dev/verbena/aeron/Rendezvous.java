package dev.verbena.aeron;

import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.verbs.AddressHandle;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
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
 * <p>A HELLO changes nothing but a bounded table, the {@link Sources}. An answer counts only with
 * the random number that it answers, and once; a queue pair only if its GID is the IP address that
 * the WELCOME came from.
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

  /** How often a socket has its devices looked at. */
  private static final long CHECK = 5_000 * MS;

  /** How long after its last request an address handle is closed. */
  private static final long RETIRE = 2_000 * MS;

  private record Retired(Pending<AddressHandle> handle, long time) {}

  private final DatagramChannel socket;
  private final Queues queues;
  private final Sources sources;
  private final TransportCounters counters;
  private final Rules rules;
  private final RandomGenerator random;
  private final RendezvousFrame in = new RendezvousFrame();
  private final RendezvousFrame out = new RendezvousFrame();
  private final Map<InetSocketAddress, Path> paths = new HashMap<>();
  private final ArrayDeque<Retired> retired = new ArrayDeque<>();

  /** Whether a path or a source waits for the worker. */
  private boolean isWaiting;

  private long nextLook;
  private long nextCleanUp;
  private long nextCheck;

  Rendezvous(DatagramChannel socket, Queues queues, Side side) {
    this.socket = socket;
    this.queues = queues;
    this.counters = side.counters();
    this.rules = side.rules();
    this.random = side.random();
    this.sources = new Sources(socket, queues, counters);
  }

  // Frames of Aeron

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
    if (length <= path.maximum()) {
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

  /** Returns the sender of the current message of a queue; null if it is not for Aeron. */
  InetSocketAddress sourceOf(DatagramQueue queue) {
    return sources.of(queue);
  }

  // The steps of a path

  /** Takes the next step of a path whose time has come. */
  void step(Path path, long now) {
    switch (path.state) {
      case QUEUE -> awaitQueue(path, now);
      case HANDLE -> awaitHandle(path, now);
      case WELCOME, PROBED -> askAndBackOff(path, now);
      case USABLE -> renew(path, now);
      case UDP -> path.nextStep = now + FORGET;
    }
  }

  private void awaitQueue(Path path, long now) {
    if (path.queue == null) {
      path.queue = queues.request(path.peer);
    }
    DatagramQueue queue = path.queue.result();
    String failure = queue == null ? path.queue.failure() : queue.failure();
    if (failure != null) {
      path.obstacle = failure;
      path.queue = null;
      path.nextStep = now + (queue == null ? withoutQueue(path) : CLEAN_UP);
    } else if (queue != null && isOfGroup(path)) {
      accept(path, new Offer(Group.members(path.peer), localPort(), queue.maximum()), now);
    } else if (queue != null) {
      path.nonce = random.nextLong();
      path.challenge = random.nextLong();
      path.state = Path.State.WELCOME;
      path.obstacle = "the peer has not answered";
      path.backoff = FIRST_BACKOFF / 2;
      askAndBackOff(path, now);
    } else {
      lookAgain(path, now);
    }
  }

  /** Returns when a queue is asked for again: soon if Aeron gives up what is dropped until then. */
  private static long withoutQueue(Path path) {
    if (path.obstacle.equals(Queues.BUSY)) {
      return FIRST_BACKOFF;
    }
    return path.rule == Rules.Rule.RDMA_ONLY ? CLEAN_UP : WITHOUT_DEVICE;
  }

  private void lookAgain(Path path, long now) {
    path.nextStep = now + LOOK_AGAIN;
    isWaiting = true;
  }

  private void askAndBackOff(Path path, long now) {
    path.backoff = Math.min(2 * path.backoff, MAX_BACKOFF);
    path.nextStep = now + path.backoff;
    ask(path);
  }

  /** Sends a HELLO, and a PROBE if the path has a handle. */
  private void ask(Path path) {
    hello(path);
    if (path.state != Path.State.WELCOME) {
      out.set(RendezvousFrame.Kind.PROBE, path.challenge, path.sequence);
      boolean _ = path.send(out.bytes()); // If the queue is full there is another one soon.
    }
  }

  private void hello(Path path) {
    path.sequence++;
    out.set(RendezvousFrame.Kind.HELLO, path.nonce, path.sequence).number(path.queue().number());
    out.send(socket, path.peer);
  }

  private boolean onWelcome(InetSocketAddress from, long now) {
    Path path = paths.get(from);
    if (path == null
        || path.queue() == null
        || in.nonce() != path.nonce
        || !isNew(path.welcomed, path)) {
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

  /** Returns whether the received frame answers what was sent, and was not answered before. */
  private boolean isNew(int answered, Path path) {
    return in.sequence() - answered > 0 && in.sequence() - path.sequence <= 0;
  }

  private void accept(Path path, Offer offer, long now) {
    boolean isSameQueuePair = path.offer != null && path.offer.address().equals(offer.address());
    path.offer = offer;
    if (path.streamMtu > path.maximum()) {
      stayOnUdp(path, path.streamMtu);
    } else if (!isSameQueuePair || path.handle == null) {
      demote(path, Path.State.HANDLE, "the peer has another queue pair");
      retire(path, now);
      prepare(path, now);
    } else if (path.state != Path.State.HANDLE) {
      demote(path, Path.State.PROBED, "the peer has forgotten the path");
      beginProbing(path, FIRST_BACKOFF / 2);
      path.nextStep = now;
    }
  }

  /** Asks for the address handle of an offer. */
  private void prepare(Path path, long now) {
    DatagramQueue queue = path.queue();
    QueuePairAddress remote = path.offer.address();
    int hops = isOfGroup(path) ? multicastTtl() : GlobalRoute.DEFAULT_HOP_LIMIT;
    path.handle = Worker.ask(() -> queue.handleTo(remote, hops));
    path.state = Path.State.HANDLE;
    lookAgain(path, now);
  }

  private int multicastTtl() {
    try {
      return socket.getOption(StandardSocketOptions.IP_MULTICAST_TTL);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the port of the socket, by which members of a group know it. */
  private int localPort() {
    return socket.socket().getLocalPort();
  }

  private void awaitHandle(Path path, long now) {
    if (path.handle.failure() != null) {
      path.obstacle = "no address handle: " + path.handle.failure();
      Log.once(Level.WARNING, path.peer.getAddress() + " stays on UDP: " + path.obstacle);
      path.offer = null;
      path.handle = null;
      path.state = isOfGroup(path) ? Path.State.QUEUE : Path.State.WELCOME;
      path.backoff = MAX_BACKOFF;
      path.nextStep = now + MAX_BACKOFF;
    } else if (path.handle.result() != null && isOfGroup(path)) {
      use(path, now); // Nobody answers for a group.
    } else if (path.handle.result() != null) {
      beginProbing(path, FIRST_BACKOFF / 2);
      askAndBackOff(path, now);
    } else {
      lookAgain(path, now);
    }
  }

  private void beginProbing(Path path, long backoff) {
    path.state = Path.State.PROBED;
    path.obstacle = "no RDMA message arrives at the peer: is UDP port 4791 filtered?";
    path.backoff = backoff;
    path.answered = path.sequence; // What was asked before may have been asked of another queue.
  }

  private boolean onProbed(InetSocketAddress from, long now) {
    Path path = paths.get(from);
    if (path == null || in.nonce() != path.challenge || !isNew(path.answered, path)) {
      return false;
    }
    path.answered = in.sequence();
    path.unanswered = 0;
    if (path.state == Path.State.PROBED) {
      use(path, now);
    }
    return true;
  }

  private void use(Path path, long now) {
    path.state = Path.State.USABLE;
    path.nextStep = now + RENEWAL_MS * MS;
    counters.paths.getAndAdd(1);
    Log.LOGGER.log(Level.DEBUG, () -> path.peer + ": RDMA, from " + path.queue());
  }

  private static boolean isOfGroup(Path path) {
    return path.rule == Rules.Rule.RDMA_MULTICAST;
  }

  private void renew(Path path, long now) {
    if (isOfGroup(path)) { // Destinations (MDS) receive by RDMA after a frame by UDP.
      path.nextStep = now + RENEWAL_MS * MS;
      hello(path);
    } else if (now - path.lastUse > IDLE) {
      leave(path, Path.State.PROBED, "unused for a while");
      beginProbing(path, FIRST_BACKOFF / 2);
      askAndBackOff(path, now);
    } else if (path.unanswered == MAX_UNANSWERED) {
      demote(path, Path.State.PROBED, MAX_UNANSWERED + " probes without an answer");
      beginProbing(path, FIRST_BACKOFF);
      askAndBackOff(path, now);
    } else {
      path.unanswered++;
      path.nextStep = now + RENEWAL_MS * MS;
      ask(path);
    }
  }

  // The end of a path

  /** Makes a path one of UDP, for a while or for good. */
  private void leave(Path path, Path.State next, String reason) {
    if (path.state == Path.State.USABLE) {
      counters.paths.getAndAdd(-1); // Also by the thread that closes the socket.
      Log.LOGGER.log(Level.DEBUG, () -> path.peer + ": UDP, " + reason);
    }
    path.state = next;
    path.obstacle = reason;
  }

  /** Leaves a path because RDMA fails. */
  private void demote(Path path, Path.State next, String reason) {
    if (path.state == Path.State.USABLE) {
      counters.demotions.incrementRelease();
    }
    leave(path, next, reason);
  }

  /** Keeps a path on UDP as long as it is used: its frames are too long for RDMA. */
  private void stayOnUdp(Path path, int length) {
    counters.tooLong.incrementRelease();
    int maximum = path.maximum();
    leave(
        path,
        Path.State.UDP,
        "frames of %d bytes, where an RDMA message holds %d: set -Daeron.mtu.length=%d, or raise the"
                .formatted(length, maximum, RdmaTransport.mtu(maximum))
            + " MTU of the network");
    Log.once(Level.WARNING, path.peer.getAddress() + " stays on UDP: " + path.obstacle);
    path.nextStep = path.lastUse + FORGET;
  }

  private void retire(Path path, long now) {
    if (path.handle != null) {
      retired.add(new Retired(path.handle, now));
      path.handle = null;
    }
  }

  /** Leaves a path whose peer is closing its socket. */
  private boolean onBye(InetSocketAddress from, long now) {
    Path path = paths.get(from);
    if (path == null || in.nonce() != path.nonce || path.offer == null) {
      return false;
    }
    leave(path, Path.State.WELCOME, "the peer has closed its socket");
    retire(path, now);
    path.offer = null;
    path.nonce = random.nextLong(); // The BYE counts once.
    path.backoff = FIRST_BACKOFF;
    path.nextStep = now + FIRST_BACKOFF;
    return true;
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

  /** Leaves a queue that failed, which closes its handles. */
  void onFailure(DatagramQueue queue, long now) {
    if (!queue.leave()) {
      return;
    }
    Log.once(Level.WARNING, queue.device() + " is left for a while, as a queue of it has failed");
    Log.LOGGER.log(Level.DEBUG, () -> queue.device() + ": " + queue.failure());
    for (Path path : paths.values()) {
      if (path.queue() == queue) {
        demote(path, Path.State.QUEUE, queue.failure());
        path.queue = null;
        path.offer = null;
        path.handle = null;
        path.nextStep = now + CLEAN_UP;
      }
    }
    sources.expire(now);
    queues.discard(queue);
  }

  /** Ends all paths, and forgets who sends: the socket will be connected elsewhere. */
  void forget(long now) {
    leaveAll("the socket is connected elsewhere", now);
    sources.clear();
  }

  /** Ends all paths, and tells those who have one to here. */
  void close(long now) {
    sources.sayBye();
    leaveAll("the channel is closed", now);
  }

  private void leaveAll(String reason, long now) {
    for (Path path : paths.values()) {
      leave(path, Path.State.UDP, reason);
      retire(path, now);
    }
    paths.clear();
  }

  // Frames of the rendezvous

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
    if (queues.areOfGroup() || rules.of(from) == Rules.Rule.UDP) {
      return true;
    }
    boolean isNew = !sources.has(from, in);
    boolean isGood = sources.onHello(in, from, now);
    isWaiting = true; // The answer may wait for the queue.
    Path path = isNew && isGood ? paths.get(from) : null;
    if (path != null && (path.state == Path.State.WELCOME || path.state == Path.State.PROBED)) {
      path.backoff = FIRST_BACKOFF / 2; // The peer may have the bridge by now.
      path.nextStep = now;
    }
    return isGood;
  }

  // Time

  /** Takes the steps that wait for the worker, and removes what is over. */
  void tick(long now) {
    if (isWaiting && now - nextLook >= 0) {
      nextLook = now + LOOK_AGAIN;
      isWaiting = sources.answer();
      for (Path path : paths.values()) {
        if (path.state == Path.State.HANDLE
            || (path.state == Path.State.QUEUE && path.queue != null)) {
          step(path, now);
        }
      }
    }
    if (now - nextCleanUp >= 0) {
      nextCleanUp = now + CLEAN_UP;
      cleanUp(now);
    }
    if (now - nextCheck >= 0) {
      nextCheck = now + CHECK;
      for (DatagramQueue queue : queues.all()) {
        Worker.run(queue.device()::check);
      }
    }
  }

  private void cleanUp(long now) {
    queues.join();
    sources.expire(now);
    for (Iterator<Path> all = paths.values().iterator(); all.hasNext(); ) {
      Path path = all.next();
      if (now - path.lastUse > (path.handle == null ? FORGET_UNKNOWN : FORGET)) {
        leave(path, Path.State.UDP, "not used any more");
        retire(path, now);
        all.remove();
      }
    }
    while (!retired.isEmpty() && now - retired.peek().time() > RETIRE) {
      Pending<AddressHandle> over = retired.remove().handle();
      Worker.run(
          () -> {
            if (over.result() != null) {
              over.result().close();
            }
          });
    }
  }
}
