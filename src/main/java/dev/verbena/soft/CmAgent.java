package dev.verbena.soft;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.CmMessage.Drep;
import dev.verbena.soft.CmMessage.Dreq;
import dev.verbena.soft.CmMessage.Mra;
import dev.verbena.soft.CmMessage.Path;
import dev.verbena.soft.CmMessage.Rej;
import dev.verbena.soft.CmMessage.Rep;
import dev.verbena.soft.CmMessage.Req;
import dev.verbena.soft.CmMessage.Rtu;
import dev.verbena.soft.CmMessage.SidrRep;
import dev.verbena.soft.CmMessage.SidrReq;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The communication manager of a device ({@code ib_cm} in the kernel): sends and receives the
 * management datagrams of queue pair 1, and assigns each to its connection or service look-up. Used
 * under the network's lock.
 */
final class CmAgent implements ManagementHandler {
  /** A received message, with the port that received it. */
  private record Arrival(SoftPort port, Gids from, CmDatagram datagram) {}

  /** A number that a peer chose, and the GUID of the peer's device. */
  private record PeerKey(long guid, int number) {}

  private static final int HOP_LIMIT = 64;

  /**
   * The maximum number of received messages that wait. Further ones are dropped, and their senders
   * repeat them.
   */
  private static final int MAX_ARRIVALS = 1024;

  private final CmManager manager;
  private final SoftDevice device;
  private final Engine engine;
  private final Map<Integer, CmExchange> exchanges = new HashMap<>();
  private final Map<PeerKey, CmExchange> byPeer = new HashMap<>();
  private final Map<PeerKey, CmExchange> byQueuePair = new HashMap<>();
  private final Map<Integer, CmLookup> lookups = new HashMap<>();
  private final List<CmLookup> questions = new ArrayList<>();
  private final ArrayDeque<Arrival> arrivals = new ArrayDeque<>();
  private final MemorySegment buffer =
      Arena.ofAuto().allocate(ManagementHandler.LENGTH, Long.BYTES);
  private int nextId = ThreadLocalRandom.current().nextInt();
  private long nextTransaction = ThreadLocalRandom.current().nextLong();

  /** Handles received messages later, since they are delivered during the work of their sender. */
  private final Task task =
      new Task() {
        @Override
        boolean run() {
          Arrival arrival = arrivals.poll();
          if (arrival != null) {
            handle(arrival);
          }
          return !arrivals.isEmpty();
        }

        @Override
        void failed(Throwable t) {
          device.contexts.forEach(
              context -> context.events.add(rdma_h.IBV_EVENT_DEVICE_FATAL(), 0));
          if (!arrivals.isEmpty()) {
            engine.request(this);
          }
        }
      };

  CmAgent(CmManager manager, SoftDevice device) {
    this.manager = manager;
    this.device = device;
    this.engine = device.network.engine;
    device.management(this);
  }

  TimerQueue timers() {
    return engine.timers;
  }

  CmTimers times() {
    return manager.times();
  }

  long now() {
    return engine.now();
  }

  long guid() {
    return device.guid;
  }

  int newId() {
    return nextId++;
  }

  long newTransaction() {
    return nextTransaction++;
  }

  // What is known

  void add(CmExchange exchange) {
    exchanges.put(exchange.id, exchange);
  }

  /** Registers an exchange by its peer, which is known now. */
  void addPeer(CmExchange exchange) {
    byPeer.put(new PeerKey(exchange.peerGuid, exchange.peerId), exchange);
    byQueuePair.put(new PeerKey(exchange.peerGuid, exchange.peerQueuePair), exchange);
  }

  void remove(CmExchange exchange) {
    exchanges.remove(exchange.id, exchange);
    byPeer.remove(new PeerKey(exchange.peerGuid, exchange.peerId), exchange);
    byQueuePair.remove(new PeerKey(exchange.peerGuid, exchange.peerQueuePair), exchange);
  }

  /** Whether a queue pair of a peer still belongs to another connection, at least in TIMEWAIT. */
  boolean isStale(long guid, int queuePair) {
    return byQueuePair.containsKey(new PeerKey(guid, queuePair));
  }

  void add(CmLookup lookup) {
    lookups.put(lookup.id, lookup);
  }

  void remove(CmLookup lookup) {
    lookups.remove(lookup.id, lookup);
    questions.remove(lookup);
  }

  // Sending

  void send(CmExchange exchange, CmDatagram datagram) {
    send(exchange.port, exchange.path, datagram);
  }

  void send(SoftPort port, Path path, CmDatagram datagram) {
    send(port, path.source(), path.destination(), datagram);
  }

  private void send(SoftPort port, Gids from, Gids to, CmDatagram datagram) {
    datagram.write(buffer.address());
    device.network.sendManagement(port, from, to, buffer.address());
  }

  // Receiving

  @Override
  public void received(SoftPort port, Gids from, long datagram) {
    CmDatagram read = CmDatagram.read(datagram);
    if (read != null && arrivals.size() < MAX_ARRIVALS) {
      arrivals.add(new Arrival(port, from, read));
      engine.request(task);
    }
  }

  private void handle(Arrival arrival) {
    CmDatagram datagram = arrival.datagram();
    switch (datagram.message()) {
      case Req req -> request(arrival, req);
      case Rep rep -> {
        CmExchange exchange = exchanges.get(rep.peerId());
        if (exchange != null) {
          exchange.received(datagram, rep);
        }
      }
      case Rtu rtu -> {
        CmExchange exchange = exchanges.get(rtu.peerId());
        if (exchange != null) {
          exchange.received(rtu);
        }
      }
      case Rej rej -> {
        CmExchange exchange = rejected(rej);
        if (exchange != null) {
          exchange.received(rej);
        }
      }
      case Mra mra -> {
        CmExchange exchange = exchanges.get(mra.peerId());
        if (exchange != null) {
          exchange.received(mra);
        }
      }
      case Dreq dreq -> {
        CmExchange exchange = exchanges.get(dreq.peerId());
        if (exchange != null) {
          exchange.received(datagram, dreq);
        } else {
          answer(arrival, new Drep(dreq.peerId(), dreq.id()));
        }
      }
      case Drep drep -> {
        CmExchange exchange = exchanges.get(drep.peerId());
        if (exchange != null) {
          exchange.received(drep);
        }
      }
      case SidrReq req -> lookup(arrival, req);
      case SidrRep rep -> {
        CmLookup lookup = lookups.get(rep.id());
        if (lookup != null) {
          lookup.received(rep);
        }
      }
    }
  }

  /** A peer may reject before it has received the communication ID of this end. */
  private CmExchange rejected(Rej rej) {
    if (rej.reason() == CmExchange.REASON_TIMEOUT && rej.info().length >= Long.BYTES) {
      return byPeer.get(new PeerKey(ByteBuffer.wrap(rej.info()).getLong(), rej.id()));
    }
    return exchanges.get(rej.peerId());
  }

  private void answer(Arrival arrival, CmMessage message) {
    Gids own = arrival.port().gids.get(manager.gidIndex(arrival.port(), arrival.from()));
    send(
        arrival.port(),
        own,
        arrival.from(),
        new CmDatagram(arrival.datagram().transaction(), 0, message));
  }

  private void request(Arrival arrival, Req req) {
    CmExchange known = byPeer.get(new PeerKey(req.offer().guid(), req.id()));
    if (known != null) {
      known.requestedAgain();
      return;
    }
    CmExchange stale = byQueuePair.get(new PeerKey(req.offer().guid(), req.offer().queuePair()));
    if (stale != null) {
      reject(arrival, req, CmExchange.REASON_STALE);
      stale.disconnect(); // The peer has forgotten it.
      return;
    }
    CmHeader header = CmHeader.read(req.data());
    CmId listener = header == null ? null : listener(arrival, req.service(), header);
    if (listener == null || listener.isDatagram()) {
      reject(arrival, req, CmExchange.REASON_NO_SERVICE);
      return;
    }
    CmId made = listener.requested(header, arrival.port());
    if (made == null) {
      reject(arrival, req, CmExchange.REASON_CONSUMER);
      return;
    }
    CmExchange exchange = CmExchange.passive(this, made, arrival.port(), arrival.datagram());
    add(exchange);
    addPeer(exchange);
    made.connectionRequested(exchange, listener, req, arrival.datagram().modifier());
  }

  private void reject(Arrival arrival, Req req, int reason) {
    answer(arrival, new Rej(0, req.id(), 0, reason, new byte[0], new byte[Rej.DATA]));
  }

  private CmId listener(Arrival arrival, long service, CmHeader header) {
    boolean isHere =
        manager.isAny(header.destination())
            || arrival.port().gids.contains(Gids.of(header.destination()));
    return isHere ? manager.ports().listener(service, header.destination(), device) : null;
  }

  private void lookup(Arrival arrival, SidrReq req) {
    if (questions.stream().anyMatch(known -> known.isOf(req.id(), arrival.from()))) {
      return; // The program has not answered it yet.
    }
    CmHeader header = CmHeader.read(req.data());
    CmId listener = header == null ? null : listener(arrival, req.service(), header);
    CmId made =
        listener == null || !listener.isDatagram()
            ? null
            : listener.requested(header, arrival.port());
    if (made == null) {
      int status = listener == null ? CmId.unsupported() : 2;
      answer(arrival, new SidrRep(req.id(), status, 0, req.service(), 0, new byte[SidrRep.DATA]));
      return;
    }
    Path path =
        new Path(Gids.of(header.destination()), arrival.from(), 0, 0, HOP_LIMIT, 0, times().ack());
    CmLookup lookup = CmLookup.passive(this, made, arrival.port(), path, arrival.datagram());
    questions.add(lookup);
    made.lookupRequested(lookup, listener, req.data());
  }
}
