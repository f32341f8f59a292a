package dev.verbena.soft.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.CmDatagram;
import dev.verbena.soft.wire.CmMessage;
import dev.verbena.soft.wire.CmMessage.Drep;
import dev.verbena.soft.wire.CmMessage.Dreq;
import dev.verbena.soft.wire.CmMessage.Mra;
import dev.verbena.soft.wire.CmMessage.Offer;
import dev.verbena.soft.wire.CmMessage.Path;
import dev.verbena.soft.wire.CmMessage.Rej;
import dev.verbena.soft.wire.CmMessage.Rep;
import dev.verbena.soft.wire.CmMessage.Req;
import dev.verbena.soft.wire.CmMessage.Rtu;
import dev.verbena.soft.wire.Gids;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection in the kernel's communication manager ({@code struct ib_cm_id} of {@code
 * ib_cm}): exchanges REQ, REP and RTU, which establish the connection, and DREQ and DREP, which end
 * it, and waits in TIMEWAIT afterwards. Used under the network's lock.
 */
public final class CmExchange {
  /** The state of the exchange. */
  enum State {
    IDLE,
    REQ_SENT,
    REQ_RECEIVED,
    REP_SENT,
    REP_RECEIVED,
    ESTABLISHED,
    DREQ_SENT,
    DREQ_RECEIVED,
    TIMEWAIT
  }

  // Reasons of a REJ
  static final int REASON_TIMEOUT = 4;
  static final int REASON_NO_SERVICE = 8;
  static final int REASON_STALE = 10;
  static final int REASON_INVALID_GID = 12;
  public static final int REASON_CONSUMER = 28;
  public static final int REASON_VENDOR_OPTION = 35;

  // What a REJ or a MRA is about
  static final int ABOUT_REQ = 0;
  private static final int ABOUT_REP = 1;
  private static final int ABOUT_OTHER = 2;

  private static final int EISCONN = 106;
  private static final byte[] NOTHING = new byte[0];

  /** The number by which the peer refers to this end. */
  final int id;

  final SoftPort port;

  /** The path, from this end's point of view. */
  Path path;

  State state = State.IDLE;

  int peerId;
  long peerGuid;
  int peerQueuePair;

  private final CmAgent agent;
  private final Timer timer;

  /** The identifier that receives the events; null after it was destroyed. */
  private @Nullable CmId owner;

  private long transaction;
  private int ownQueuePair;
  private final int ownPsn;
  private int peerPsn;
  private int responderResources;
  private int initiatorDepth;
  private int retryCount;
  private int rnrRetryCount;
  private int mtu;
  private int transport;

  /** The message that is sent again until it is answered, with its attribute modifier. */
  private @Nullable CmDatagram last;

  private int triesLeft;

  /** Until when an answer that is postponed has the tries begin again. */
  private long patientUntil;

  /** Whether the peer has postponed its answer to the message, since that was last sent. */
  private boolean isPostponed;

  /** Whether it counts as a request that is neither established nor given up. */
  private boolean isHalfOpen;

  /** Whether it counts among those that are kept in TIMEWAIT. */
  private boolean isKept;

  /** How long to wait for an answer, and how often to send again: set by the active end. */
  private int response;

  private int maxRetries = CmTimers.RETRIES;

  private CmExchange(CmAgent agent, CmId owner, SoftPort port, Path path) {
    this.agent = agent;
    this.owner = owner;
    this.port = port;
    this.path = path;
    this.id = agent.newId();
    this.ownPsn = owner.startingPsn;
    this.timer = new Timer(agent.engine.timers(), this::overdue);
    this.response = agent.times().response();
  }

  /** The active end. */
  static CmExchange active(CmAgent agent, CmId owner, SoftPort port, Path path) {
    return new CmExchange(agent, owner, port, path);
  }

  /** The passive end, made by a request, for which {@link CmAgent#requests} has a place. */
  static CmExchange passive(CmAgent agent, CmId owner, SoftPort port, CmDatagram request) {
    Req req = (Req) request.message();
    Path path = req.path().reversed();
    CmExchange exchange =
        new CmExchange(agent, owner, port, path.withAckTimeout(CmTimers.ack(path.ackTimeout())));
    exchange.isHalfOpen = true;
    exchange.transaction = request.transaction();
    exchange.peerId = req.id();
    exchange.peerGuid = req.offer().guid();
    exchange.retryCount = req.retryCount();
    exchange.response = CmTimers.response(req.localTimeout());
    exchange.maxRetries = req.maxRetries();
    exchange.rnrRetryCount = req.offer().rnrRetryCount();
    exchange.mtu = req.mtu();
    exchange.transport = req.transport();
    exchange.take(req.offer());
    exchange.state = State.REQ_RECEIVED;
    return exchange;
  }

  /** Stores the offer of the peer, whose responder resources limit the requests of this end. */
  private void take(Offer offer) {
    peerQueuePair = offer.queuePair();
    peerPsn = offer.startingPsn();
    responderResources = offer.initiatorDepth();
    initiatorDepth = offer.responderResources();
  }

  Gids destination() {
    return path.destination();
  }

  /** Whether a message is from the peer: from its address, with its number if that is known. */
  boolean isFrom(Gids address, int number) {
    return destination().equals(address) && (state == State.REQ_SENT || peerId == number);
  }

  // What the program asks for

  /** Sends a REQ. */
  void connect(Offer offer, long service, int retries, boolean unreliable, int ece, byte[] data) {
    ownQueuePair = offer.queuePair();
    responderResources = offer.responderResources();
    initiatorDepth = offer.initiatorDepth();
    retryCount = retries;
    mtu = port.device.mtuCode();
    transport = unreliable ? 1 : 0;
    transaction = agent.newTransaction();
    Req req =
        new Req(
            id,
            service,
            offer,
            transport,
            response,
            response,
            retryCount,
            maxRetries,
            mtu,
            path,
            data);
    state = State.REQ_SENT;
    sendUntilAnswered(new CmDatagram(transaction, ece, req));
  }

  /**
   * Sends a REP.
   *
   * @throws VerbsException EINVAL if no request waits for it
   */
  void accept(Offer offer, int queueKey, int ece, byte[] data) {
    require(state == State.REQ_RECEIVED);
    ownQueuePair = offer.queuePair();
    responderResources = offer.responderResources();
    initiatorDepth = offer.initiatorDepth();
    state = State.REP_SENT;
    sendUntilAnswered(
        new CmDatagram(transaction, ece, new Rep(id, peerId, queueKey, 0, offer, data)));
  }

  /**
   * Sends an RTU.
   *
   * @throws VerbsException EINVAL if no reply waits for it
   */
  void establish() {
    require(state == State.REP_RECEIVED);
    state = State.ESTABLISHED;
    send(new Rtu(id, peerId));
  }

  /** Rejects the request or the reply. */
  void reject(int reason, byte[] data) {
    require(state == State.REQ_RECEIVED || state == State.REP_RECEIVED || state == State.REP_SENT);
    timer.stop();
    send(
        new Rej(
            id,
            peerId,
            state == State.REQ_RECEIVED ? ABOUT_REQ : ABOUT_REP,
            reason,
            NOTHING,
            data));
    forget();
  }

  /** Data arrived before the RTU, which establishes the connection as the RTU does. */
  void notifyEstablished() {
    if (state == State.ESTABLISHED) {
      throw CallFailure.of(EISCONN);
    }
    require(state == State.REP_SENT);
    established();
  }

  /** Sends a DREQ, or the DREP that answers that of the peer; otherwise does nothing. */
  void disconnect() {
    if (state == State.ESTABLISHED) {
      state = State.DREQ_SENT;
      transaction = agent.newTransaction();
      sendUntilAnswered(new CmDatagram(transaction, 0, new Dreq(id, peerId, peerQueuePair)));
    } else if (state == State.DREQ_RECEIVED) {
      send(new Drep(id, peerId));
      enterTimewait();
    }
  }

  /** Ends the exchange in whatever state it is, without further events. */
  void destroy() {
    owner = null;
    settle();
    switch (state) {
      case REQ_SENT -> withdraw();
      case REQ_RECEIVED, REP_SENT, REP_RECEIVED -> reject(REASON_CONSUMER, NOTHING);
      case ESTABLISHED -> {
        transaction = agent.newTransaction();
        send(new Dreq(id, peerId, peerQueuePair));
        enterTimewait();
      }
      case DREQ_SENT -> enterTimewait();
      case DREQ_RECEIVED -> disconnect();
      case TIMEWAIT -> {}
      case IDLE -> agent.remove(this);
    }
  }

  private static void require(boolean condition) {
    CallFailure.invalidIf(!condition, "the connection is in another state");
  }

  // What the peer sends

  /** The request came again. */
  void requestedAgain() {
    switch (state) {
      case REQ_RECEIVED -> send(new Mra(id, peerId, ABOUT_REQ, CmTimers.SERVICE));
      case REP_SENT -> agent.send(this, last);
      case TIMEWAIT -> send(new Rej(id, peerId, ABOUT_REQ, REASON_STALE, NOTHING, NOTHING));
      default -> {}
    }
  }

  /** Handles a message that {@link #isFrom} the peer. */
  void received(CmDatagram datagram, CmMessage.OfConnection message) {
    switch (message) {
      case Rep rep -> replied(datagram, rep);
      case Rtu _ -> ready();
      case Rej rej -> rejected(rej);
      case Mra mra -> postponed(mra);
      case Dreq dreq -> disconnected(datagram, dreq);
      case Drep _ -> disconnected();
    }
  }

  private void replied(CmDatagram datagram, Rep rep) {
    if (state == State.ESTABLISHED) {
      send(new Rtu(id, peerId));
    } else if (state == State.REP_RECEIVED) {
      send(new Mra(id, peerId, ABOUT_REP, CmTimers.CONFIRMATION));
    } else if (state == State.REQ_SENT) {
      timer.stop();
      peerId = rep.id();
      peerGuid = rep.offer().guid();
      if (agent.isStale(destination(), peerGuid, rep.offer().queuePair())) {
        send(new Rej(id, peerId, ABOUT_REP, REASON_STALE, NOTHING, NOTHING));
        forget();
        tell(rdma_h.RDMA_CM_EVENT_REJECTED(), REASON_STALE, CmEvent.NOTHING);
        return;
      }
      rnrRetryCount = rep.offer().rnrRetryCount();
      take(rep.offer());
      agent.addPeer(this);
      agent.confirm(this);
      state = State.REP_RECEIVED;
      tell(
          rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE(),
          0,
          CmEvent.Connection.of(rep.offer(), 0, datagram.modifier(), rep.data()));
    }
  }

  private void ready() {
    if (state == State.REP_SENT) {
      established();
    }
    if (state == State.ESTABLISHED) { // Perhaps since data came before the RTU.
      agent.confirm(this);
    }
  }

  private void established() {
    timer.stop();
    settle();
    state = State.ESTABLISHED;
    tell(rdma_h.RDMA_CM_EVENT_ESTABLISHED(), 0, CmEvent.NOTHING);
  }

  private void postponed(Mra mra) {
    boolean waiting =
        (state == State.REQ_SENT && mra.received() == ABOUT_REQ)
            || (state == State.REP_SENT && mra.received() == ABOUT_REP);
    if (waiting && !isPostponed) {
      isPostponed = true; // Once each time, or it would be for ever.
      if (agent.engine.now() - patientUntil < 0) {
        triesLeft = maxRetries;
      }
      await(CmTimers.service(mra.serviceTimeout()));
    }
  }

  private void rejected(Rej rej) {
    switch (state) {
      case REQ_RECEIVED -> forget(); // The peer knows nothing of this end's queue pair.
      case REQ_SENT, REP_SENT, REP_RECEIVED -> {
        timer.stop();
        if (rej.reason() == REASON_STALE) {
          enterTimewait();
        } else {
          forget();
        }
      }
      case ESTABLISHED, DREQ_SENT -> enterTimewait();
      default -> {
        return;
      }
    }
    tell(rdma_h.RDMA_CM_EVENT_REJECTED(), rej.reason(), CmEvent.Connection.of(rej.data()));
  }

  private void disconnected(CmDatagram datagram, Dreq dreq) {
    if (dreq.queuePair() != ownQueuePair) {
      return;
    }
    switch (state) {
      case REP_SENT, ESTABLISHED, DREQ_SENT -> {
        timer.stop();
        transaction = datagram.transaction();
        state = State.DREQ_RECEIVED;
        tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), 0, CmEvent.NOTHING);
      }
      case TIMEWAIT ->
          agent.send(this, new CmDatagram(datagram.transaction(), 0, new Drep(id, peerId)));
      default -> {}
    }
  }

  private void disconnected() {
    if (state == State.DREQ_SENT || state == State.DREQ_RECEIVED) {
      enterTimewait();
      tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), 0, CmEvent.NOTHING);
    }
  }

  // Sending and waiting

  private void send(CmMessage message) {
    agent.send(this, new CmDatagram(transaction, 0, message));
  }

  private void sendUntilAnswered(CmDatagram datagram) {
    last = datagram;
    triesLeft = maxRetries;
    patientUntil = agent.engine.now() + CmTimers.nanos(CmTimers.SERVICE);
    isPostponed = false;
    agent.send(this, datagram);
    await(response);
  }

  private void await(int exponent) {
    timer.start(agent.engine.now() + CmTimers.nanos(exponent));
  }

  /** Sends a message again, or ends TIMEWAIT. */
  private void overdue() {
    if (state == State.TIMEWAIT) {
      if (isKept) {
        agent.timewait.release(destination());
      }
      agent.remove(this);
      state = State.IDLE;
      tell(rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT(), 0, CmEvent.NOTHING);
    } else if (port.device.isStopped() && !port.device.isRemoved()) {
      await(response);
    } else if (triesLeft-- > 0) {
      isPostponed = false;
      agent.send(this, last);
      await(response);
    } else {
      giveUp();
    }
  }

  private void giveUp() {
    State before = state;
    if (before == State.DREQ_SENT) {
      enterTimewait();
      tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), -Errno.ETIMEDOUT, CmEvent.NOTHING);
    } else {
      if (before == State.REQ_SENT) {
        withdraw();
      } else {
        forget();
      }
      tell(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), -Errno.ETIMEDOUT, CmEvent.NOTHING);
    }
  }

  /** Tells the peer that this end waits no longer for the answer to its request. */
  private void withdraw() {
    byte[] guid = ByteBuffer.allocate(Long.BYTES).putLong(agent.device.guid).array();
    send(new Rej(id, 0, ABOUT_OTHER, REASON_TIMEOUT, guid, NOTHING));
    forget();
  }

  /** Waits until no packets of the connection can be under way; not if too many do. */
  private void enterTimewait() {
    state = State.TIMEWAIT;
    isKept = agent.timewait.take(destination());
    if (isKept) {
      await(CmTimers.timewait(path.ackTimeout()));
    } else {
      timer.start(agent.engine.now());
    }
  }

  /** It is established or given up: another request may take its place. */
  private void settle() {
    if (isHalfOpen) {
      isHalfOpen = false;
      agent.requests.release(destination());
    }
  }

  private void forget() {
    timer.stop();
    state = State.IDLE;
    agent.remove(this);
  }

  private void tell(int event, int status, CmEvent.Parameters parameters) {
    if (owner != null) {
      owner.connectionEvent(event, status, parameters);
    }
  }

  // The queue pair

  /**
   * Sets the attributes that the connection gives its queue pair for a state.
   *
   * @return which attributes are set
   * @throws VerbsException EINVAL if the exchange has not come so far
   */
  int setAttributes(int target, CStruct attributes) {
    boolean reliable = transport == 0;
    if (target == rdma_h.IBV_QPS_INIT()) {
      require(state.compareTo(State.IDLE) > 0 && state != State.TIMEWAIT);
      int access = rdma_h.IBV_ACCESS_REMOTE_WRITE();
      if (responderResources > 0) {
        access |=
            rdma_h.IBV_ACCESS_REMOTE_READ()
                | rdma_h.IBV_ACCESS_REMOTE_ATOMIC()
                | rdma_h.IBV_ACCESS_FLUSH_GLOBAL()
                | rdma_h.IBV_ACCESS_FLUSH_PERSISTENT();
      }
      attributes.putInt("qp_access_flags", access).putByte("port_num", port.number);
      return rdma_h.IBV_QP_STATE()
          | rdma_h.IBV_QP_ACCESS_FLAGS()
          | rdma_h.IBV_QP_PKEY_INDEX()
          | rdma_h.IBV_QP_PORT();
    }
    require(
        switch (state) {
          case REQ_RECEIVED, REP_RECEIVED, REP_SENT, ESTABLISHED -> true;
          default -> false;
        });
    if (target == rdma_h.IBV_QPS_RTR()) {
      CmPath.write(attributes.at("ah_attr", ibv_ah_attr.layout()), port, path);
      attributes
          .putInt("path_mtu", mtu)
          .putInt("dest_qp_num", peerQueuePair)
          .putInt("rq_psn", ownPsn);
      int mask =
          rdma_h.IBV_QP_STATE()
              | rdma_h.IBV_QP_AV()
              | rdma_h.IBV_QP_PATH_MTU()
              | rdma_h.IBV_QP_DEST_QPN()
              | rdma_h.IBV_QP_RQ_PSN();
      if (reliable) {
        attributes.putByte("max_dest_rd_atomic", responderResources).putByte("min_rnr_timer", 0);
        mask |= rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC() | rdma_h.IBV_QP_MIN_RNR_TIMER();
      }
      return mask;
    }
    require(target == rdma_h.IBV_QPS_RTS());
    attributes.putInt("sq_psn", peerPsn);
    int mask = rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_SQ_PSN();
    if (reliable) {
      attributes
          .putByte("timeout", path.ackTimeout())
          .putByte("retry_cnt", retryCount)
          .putByte("rnr_retry", rnrRetryCount)
          .putByte("max_rd_atomic", initiatorDepth);
      mask |=
          rdma_h.IBV_QP_TIMEOUT()
              | rdma_h.IBV_QP_RETRY_CNT()
              | rdma_h.IBV_QP_RNR_RETRY()
              | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC();
    }
    return mask;
  }

  @Override
  public String toString() {
    return "connection " + Integer.toHexString(id) + " (queue pair " + ownQueuePair + ") " + state;
  }
}
