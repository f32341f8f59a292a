package dev.verbena.soft.cm;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.device.ManagementHandler;
import dev.verbena.soft.device.SoftAddressVector;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.engine.Task;
import dev.verbena.soft.wire.CmDatagram;
import dev.verbena.soft.wire.CmHeader;
import dev.verbena.soft.wire.CmMessage;
import dev.verbena.soft.wire.CmMessage.Drep;
import dev.verbena.soft.wire.CmMessage.Dreq;
import dev.verbena.soft.wire.CmMessage.Mra;
import dev.verbena.soft.wire.CmMessage.OfConnection;
import dev.verbena.soft.wire.CmMessage.Path;
import dev.verbena.soft.wire.CmMessage.Rej;
import dev.verbena.soft.wire.CmMessage.Req;
import dev.verbena.soft.wire.CmMessage.SidrRep;
import dev.verbena.soft.wire.CmMessage.SidrReq;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.ManagementDatagram;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.SequencedSet;
import org.jspecify.annotations.Nullable;

/**
 * The communication manager of a device ({@code ib_cm} in the kernel): sends and receives the
 * management datagrams of queue pair 1, and assigns each to its connection or service look-up. Used
 * under the network's lock.
 */
final class CmAgent implements ManagementHandler {
  /** A received message, with the port and the GID that received it, and the GID that sent it. */
  private record Arrival(SoftPort port, Gids own, Gids from, CmDatagram datagram) {}

  /**
   * A communication ID or queue pair number of a peer, the GUID of the peer's device and the
   * address of the peer: what a message says does not concern the connections of another address.
   */
  private record PeerKey(Gids address, long guid, int number) {}

  private static final int HOP_LIMIT = 64;

  /**
   * The maximum number of received messages that wait. Further ones are dropped, and their senders
   * repeat them.
   */
  private static final int MAX_ARRIVALS = 1024;

  /** Of communication IDs and transactions: peers cannot guess them from those that they know. */
  private static final SecureRandom RANDOM = new SecureRandom();

  /** Places for requests that are neither established nor given up. */
  final CmQuota requests = new CmQuota();

  /** Places for exchanges that are kept in TIMEWAIT. */
  final CmQuota timewait = new CmQuota();

  private final CmManager manager;
  final SoftDevice device;
  final Engine engine;
  private final Map<Integer, CmExchange> exchanges = new HashMap<>();
  private final Map<PeerKey, CmExchange> byPeer = new HashMap<>();
  private final Map<PeerKey, CmExchange> byQueuePair = new HashMap<>();

  /** The exchanges with each address that a message of the peer has confirmed, the oldest first. */
  private final Map<Gids, SequencedSet<CmExchange>> confirmed = new HashMap<>();

  private final Map<Integer, CmLookup> lookups = new HashMap<>();
  private final Map<PeerKey, CmLookup> questions = new HashMap<>();
  private final ArrayDeque<Arrival> arrivals = new ArrayDeque<>();

  /** Handles received messages later, since they are delivered during the work of their sender. */
  private final Task task =
      new Task() {
        @Override
        public boolean run() {
          Arrival arrival = arrivals.poll();
          if (arrival != null) {
            handle(arrival);
          }
          return !arrivals.isEmpty();
        }

        @Override
        public void failed(Throwable t) {
          device.internalError();
          if (!arrivals.isEmpty()) {
            engine.request(this);
          }
        }
      };

  CmAgent(CmManager manager, SoftDevice device) {
    this.manager = manager;
    this.device = device;
    this.engine = device.engine;
    device.management(this);
  }

  CmTimers times() {
    return manager.times();
  }

  /** A communication ID other than 0 that nothing has. */
  int newId() {
    int id;
    do {
      id = Time.random(RANDOM).nextInt();
    } while (id == 0 || exchanges.containsKey(id) || lookups.containsKey(id));
    return id;
  }

  long newTransaction() {
    return Time.random(RANDOM).nextLong();
  }

  // What is known

  void add(CmExchange exchange) {
    exchanges.put(exchange.id, exchange);
  }

  /** Registers an exchange by its peer, which is known now. */
  void addPeer(CmExchange exchange) {
    byPeer.put(peer(exchange), exchange);
    byQueuePair.put(queuePair(exchange), exchange);
  }

  void remove(CmExchange exchange) {
    exchanges.remove(exchange.id, exchange);
    byPeer.remove(peer(exchange), exchange);
    byQueuePair.remove(queuePair(exchange), exchange);
    SequencedSet<CmExchange> others = confirmed.get(exchange.destination());
    if (others != null && others.remove(exchange) && others.isEmpty()) {
      confirmed.remove(exchange.destination());
    }
  }

  /**
   * The peer of an exchange has answered, and so is at its address. Connections with another device
   * there are stale: that device was replaced, as one over UDP is by the next process.
   */
  void confirm(CmExchange exchange) {
    SequencedSet<CmExchange> all =
        confirmed.computeIfAbsent(exchange.destination(), _ -> new LinkedHashSet<>());
    all.add(exchange);
    while (all.getFirst().peerGuid != exchange.peerGuid) {
      all.removeFirst().disconnect();
    }
  }

  private static PeerKey peer(CmExchange exchange) {
    return new PeerKey(exchange.destination(), exchange.peerGuid, exchange.peerId);
  }

  private static PeerKey queuePair(CmExchange exchange) {
    return new PeerKey(exchange.destination(), exchange.peerGuid, exchange.peerQueuePair);
  }

  /** Whether a queue pair of a peer still belongs to another connection, at least in TIMEWAIT. */
  boolean isStale(Gids peer, long guid, int queuePair) {
    return byQueuePair.containsKey(new PeerKey(peer, guid, queuePair));
  }

  void add(CmLookup lookup) {
    lookups.put(lookup.id, lookup);
  }

  void remove(CmLookup lookup) {
    lookups.remove(lookup.id, lookup);
    if (questions.remove(question(lookup.peer(), lookup.id), lookup)) {
      requests.release(lookup.peer());
    }
  }

  private static PeerKey question(Gids peer, int id) {
    return new PeerKey(peer, 0, id);
  }

  // Sending

  void send(CmExchange exchange, CmDatagram datagram) {
    send(exchange.port, exchange.path, datagram);
  }

  void send(SoftPort port, Path path, CmDatagram datagram) {
    send(port, path.source(), path.destination(), datagram);
  }

  private void send(SoftPort port, Gids from, Gids to, CmDatagram datagram) {
    Packet packet = device.packets.take().reset(Opcode.UD | Opcode.SEND_ONLY, 1, 0);
    new SoftAddressVector(port, from, to, 0, 64, 0, 0).address(packet);
    packet.queueKey = ManagementDatagram.QUEUE_KEY;
    packet.sourceNumber = 1;
    packet.length = ManagementDatagram.LENGTH;
    datagram.write(packet.payload);
    device.fabric.send(port, packet);
  }

  // Receiving

  @Override
  public void received(SoftPort port, Gids own, Gids from, long datagram) {
    CmDatagram read = CmDatagram.read(datagram);
    if (read != null && arrivals.size() < MAX_ARRIVALS) {
      arrivals.add(new Arrival(port, own, from, read));
      engine.request(task);
    }
  }

  private void handle(Arrival arrival) {
    switch (arrival.datagram().message()) {
      case Req req -> request(arrival, req);
      case OfConnection message -> {
        CmExchange exchange = exchange(arrival.from(), message);
        if (exchange != null) {
          exchange.received(arrival.datagram(), message);
        } else if (message instanceof Dreq dreq) {
          answer(arrival, new Drep(dreq.peerId(), dreq.id()));
        }
      }
      case SidrReq req -> lookup(arrival, req);
      case SidrRep rep -> {
        CmLookup lookup = lookups.get(rep.id());
        if (lookup != null && lookup.peer().equals(arrival.from())) {
          lookup.received(rep);
        }
      }
    }
  }

  /** The exchange that a message from an address is about; null if that is not its peer's. */
  private @Nullable CmExchange exchange(Gids from, OfConnection message) {
    if (message instanceof Rej rej
        && rej.reason() == CmExchange.REASON_TIMEOUT
        && rej.info().length >= Long.BYTES) {
      // A peer may reject before it has received the communication ID of this end.
      return byPeer.get(new PeerKey(from, ByteBuffer.wrap(rej.info()).getLong(), rej.id()));
    }
    CmExchange exchange = exchanges.get(message.peerId());
    return exchange != null && exchange.isFrom(from, message.id()) ? exchange : null;
  }

  private void answer(Arrival arrival, CmMessage message) {
    send(
        arrival.port(),
        arrival.own(),
        arrival.from(),
        new CmDatagram(arrival.datagram().transaction(), 0, message));
  }

  private void request(Arrival arrival, Req req) {
    CmHeader header = CmHeader.read(req.data());
    if (!isAddressed(arrival, req.path(), header)) {
      reject(arrival, req, CmExchange.REASON_INVALID_GID);
      return;
    }
    CmExchange known = byPeer.get(new PeerKey(arrival.from(), req.offer().guid(), req.id()));
    if (known != null) {
      known.requestedAgain();
      return;
    }
    CmExchange stale =
        byQueuePair.get(new PeerKey(arrival.from(), req.offer().guid(), req.offer().queuePair()));
    if (stale != null) {
      reject(arrival, req, CmExchange.REASON_STALE);
      stale.disconnect(); // The peer has forgotten it.
      return;
    }
    CmId listener = header == null ? null : listener(arrival, req.service(), header);
    if (listener == null || listener.isDatagram()) {
      reject(arrival, req, CmExchange.REASON_NO_SERVICE);
      return;
    }
    if (!requests.take(arrival.from())) {
      answer(arrival, new Mra(0, req.id(), CmExchange.ABOUT_REQ, times().response()));
      return; // The peer sends it again, for longer than without an answer.
    }
    CmId made = listener.requested(header, arrival.port());
    if (made == null) {
      requests.release(arrival.from());
      reject(arrival, req, CmExchange.REASON_CONSUMER);
      return;
    }
    CmExchange exchange = CmExchange.passive(this, made, arrival.port(), arrival.datagram());
    add(exchange);
    addPeer(exchange);
    made.connectionRequested(exchange, listener, req, arrival.datagram().modifier());
  }

  /**
   * Whether the addresses in a request are those that it was sent from and to. Answers go to the
   * address in the request: its sender could have them sent to anybody.
   */
  private static boolean isAddressed(Arrival arrival, Path path, @Nullable CmHeader header) {
    return path.source().equals(arrival.from())
        && path.destination().equals(arrival.own())
        && (header == null || isFrom(arrival, header));
  }

  private static boolean isFrom(Arrival arrival, CmHeader header) {
    return Gids.of(header.source().getAddress()).equals(arrival.from());
  }

  private void reject(Arrival arrival, Req req, int reason) {
    answer(arrival, new Rej(0, req.id(), 0, reason, new byte[0], new byte[Rej.DATA]));
  }

  private @Nullable CmId listener(Arrival arrival, long service, CmHeader header) {
    boolean isHere =
        manager.isAny(header.destination())
            || arrival.port().gids.contains(Gids.of(header.destination()));
    return isHere ? manager.ports().listener(service, header.destination(), device) : null;
  }

  private void lookup(Arrival arrival, SidrReq req) {
    PeerKey question = question(arrival.from(), req.id());
    if (questions.containsKey(question)) {
      return; // The program has not answered it yet.
    }
    CmHeader header = CmHeader.read(req.data());
    if (header == null || !isFrom(arrival, header)) {
      refuse(arrival, req, CmId.SIDR_REJECT);
      return;
    }
    CmId listener = listener(arrival, req.service(), header);
    if (listener == null) {
      refuse(arrival, req, CmId.SIDR_UNSUPPORTED);
      return;
    }
    if (!requests.take(arrival.from())) {
      return; // The peer sends it again; there is no MRA for look-ups.
    }
    CmId made = listener.isDatagram() ? listener.requested(header, arrival.port()) : null;
    if (made == null) {
      requests.release(arrival.from());
      refuse(arrival, req, CmId.SIDR_REJECT);
      return;
    }
    Path path = new Path(arrival.own(), arrival.from(), 0, 0, HOP_LIMIT, 0, times().ack());
    CmLookup lookup = CmLookup.passive(this, made, arrival.port(), path, arrival.datagram());
    questions.put(question, lookup);
    made.lookupRequested(lookup, listener, req.data());
  }

  private void refuse(Arrival arrival, SidrReq req, int status) {
    answer(arrival, new SidrRep(req.id(), status, 0, req.service(), 0, new byte[SidrRep.DATA]));
  }
}
