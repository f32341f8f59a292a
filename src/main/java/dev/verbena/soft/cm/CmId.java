package dev.verbena.soft.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.time.Time;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.CmHeader;
import dev.verbena.soft.wire.CmMessage;
import dev.verbena.soft.wire.CmMessage.Offer;
import dev.verbena.soft.wire.CmMessage.Path;
import dev.verbena.soft.wire.CmMessage.Req;
import dev.verbena.soft.wire.CmMessage.SidrRep;
import dev.verbena.soft.wire.CmMessage.SidrReq;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Psn;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The kernel's part of an RDMA CM identifier ({@code struct rdma_id_private} of {@code rdma_cm}):
 * state, addresses, port, connection. {@link CmHandle} is the part of librdmacm. Changed under the
 * network's lock.
 */
public final class CmId {
  /** The state of an identifier, as in the kernel. */
  enum State {
    IDLE,
    ADDRESS_BOUND,
    ADDRESS_QUERY,
    ADDRESS_RESOLVED,
    ROUTE_RESOLVED,
    CONNECT,
    DISCONNECT,
    LISTEN,
    /** The device was removed: no event of a resolution or connection follows. */
    REMOVED,
    DESTROYED
  }

  static final int DEFAULT_QUEUE_KEY = 0x0123_4567;
  private static final int HOP_LIMIT = 64;

  // Status of a SIDR REP
  private static final int SIDR_SUCCESS = 0;
  static final int SIDR_UNSUPPORTED = 1;
  static final int SIDR_REJECT = 2;

  final CmManager manager;
  public final int portSpace;
  public final int queuePairType;

  /** The packet sequence number with which the peer is to send. */
  final int startingPsn = Time.random(ThreadLocalRandom.current()).nextInt() & Psn.MASK;

  State state = State.IDLE;
  public CmChannel channel;

  /** What librdmacm adds; null from the arrival of a request until its event is taken. */
  public @Nullable CmHandle handle;

  /** The own address and the peer's; null before binding and before resolution. */
  public @Nullable InetSocketAddress source;

  public @Nullable InetSocketAddress destination;

  /** The port of a device that it is bound to, or null. */
  @Nullable SoftPort port;

  /** The path to the peer, once it is known. */
  @Nullable Path path;

  /** Whether the destination is a wildcard or loopback address, and no own address was bound. */
  private boolean loopsUnbound;

  boolean sharesAddress;
  boolean addressFamilyOnly;

  /** How many of its events were taken. */
  public int eventsTaken;

  private int typeOfService;

  /** The local ACK timeout that was set, or -1. */
  private int ackTimeout = -1;

  /** The connection, or null. */
  private @Nullable CmExchange exchange;

  /** The look-up of a datagram service, or null. */
  private @Nullable CmLookup lookup;

  private final List<CmMembership> memberships = new ArrayList<>();
  private final Timer resolution;

  /**
   * Whether a request created it, and it was not yet accepted or rejected: its events are not
   * reported.
   */
  private boolean isFresh;

  /**
   * The number of further connection requests that this listener accepts into its queue; unused on
   * other identifiers.
   */
  private int backlog;

  public CmId(CmManager manager, CmChannel channel, int portSpace, int queuePairType) {
    this.manager = manager;
    this.channel = channel;
    this.portSpace = portSpace;
    this.queuePairType = queuePairType;
    this.resolution = new Timer(manager.engine.timers(), this::unresolved);
  }

  /** Ends an address resolution that had no answer. */
  private void unresolved() {
    state = State.ADDRESS_BOUND;
    tell(rdma_h.RDMA_CM_EVENT_ADDR_ERROR(), -Errno.ETIMEDOUT, CmEvent.NOTHING);
  }

  public boolean isDatagram() {
    return queuePairType == rdma_h.IBV_QPT_UD();
  }

  private boolean isUnreliable() {
    return queuePairType == rdma_h.IBV_QPT_UC();
  }

  private long service(InetSocketAddress address) {
    return Integer.toUnsignedLong(portSpace) << 16 | address.getPort();
  }

  private void require(State wanted) {
    CallFailure.invalidIf(state != wanted, "the identifier is in state " + state);
  }

  // Options

  public void typeOfService(int value) {
    typeOfService = value;
  }

  public void ackTimeout(int value) {
    CallFailure.invalidIf(isDatagram(), "datagrams are not acknowledged");
    ackTimeout = value;
  }

  public void shareAddress(boolean share) {
    CallFailure.invalidIf(
        state != State.IDLE && !(share && state != State.LISTEN),
        "the identifier is in state " + state);
    sharesAddress = share;
  }

  public void addressFamilyOnly(boolean only) {
    CallFailure.invalidIf(
        state != State.IDLE && state != State.ADDRESS_BOUND, "the identifier is in state " + state);
    addressFamilyOnly = only;
  }

  // Addresses and routes

  public void bind(InetSocketAddress address) {
    require(State.IDLE);
    SoftPort found = null;
    if (!manager.isAny(address.getAddress())) {
      found = manager.port(address.getAddress());
      if (found == null) {
        throw CallFailure.of(Errno.EADDRNOTAVAIL, "no software device has the address");
      }
      found.device.profile.requireCm();
    }
    source = manager.ports().bind(this, address);
    port = found;
    state = State.ADDRESS_BOUND;
  }

  public void resolveAddress(
      @Nullable InetSocketAddress from, InetSocketAddress to, int milliseconds) {
    if (state == State.IDLE) {
      bind(from == null ? new InetSocketAddress(wildcard(to.getAddress()), 0) : from);
    }
    require(State.ADDRESS_BOUND);
    InetAddress peer = to.getAddress();
    CallFailure.invalidIf(
        source.getAddress().getClass() != peer.getClass(),
        "one address is of IPv4, the other of IPv6: " + source + ", " + to);
    SoftPort chosen = port == null ? manager.portToward(peer) : port;
    boolean loops = manager.isAny(peer);
    boolean group = peer.isMulticastAddress();
    SoftPort target = loops ? chosen : group ? null : manager.port(peer);
    if (chosen == null || (target == null && !group && !manager.isLinked())) {
      throw CallFailure.of(
          Errno.ENETUNREACH,
          (manager.isLinked()
                  ? "no device over UDP has a route (ip route) to "
                  : "no software device of the network has the address ")
              + peer);
    }
    if (!manager.hasRoute(chosen, peer)) {
      throw CallFailure.of(Errno.ENETUNREACH, "no route (ip route) from " + source + " to " + peer);
    }
    chosen.device.profile.requireCm();
    loopsUnbound = loops && port == null;
    attach(chosen, peer);
    destination = to;
    Gids peerGid = loops ? Gids.of(source.getAddress()) : Gids.of(peer);
    setPath(Gids.of(source.getAddress()), peerGid);
    if (group || manager.reaches(chosen, target)) {
      state = State.ADDRESS_RESOLVED;
      tell(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), 0, CmEvent.NOTHING);
    } else {
      state = State.ADDRESS_QUERY;
      resolution.start(manager.engine.now() + milliseconds * 1_000_000L);
    }
  }

  private static InetAddress wildcard(InetAddress like) {
    return CmAddress.wildcard(like.getAddress().length);
  }

  /** Binds a wildcard address to a port of a device. */
  private void attach(SoftPort chosen, InetAddress peer) {
    port = chosen;
    if (manager.isAny(source.getAddress())) {
      InetAddress own = manager.address(chosen, peer.getAddress().length);
      source = new InetSocketAddress(own, source.getPort());
    }
  }

  private void setPath(Gids from, Gids to) {
    int timeout = ackTimeout >= 0 ? ackTimeout : manager.times().ack();
    path = new Path(from, to, 0, typeOfService, HOP_LIMIT, 0, timeout);
  }

  public void resolveRoute() {
    require(State.ADDRESS_RESOLVED);
    if (loopsUnbound) {
      throw CallFailure.of(
          Errno.ENODEV,
          "a wildcard or loopback address leads to no network interface: use an address of a"
              + " device");
    }
    state = State.ROUTE_RESOLVED;
    setPath(path.source(), path.destination()); // Options may have been set since.
    tell(rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED(), 0, CmEvent.NOTHING);
  }

  // Connections

  public void listen(int length) {
    if (state == State.IDLE) {
      bind(new InetSocketAddress(CmAddress.wildcard(4), 0));
    }
    require(State.ADDRESS_BOUND);
    manager.ports().requireListenable(this);
    backlog = length > 0 && length < CmManager.MAX_BACKLOG ? length : CmManager.MAX_BACKLOG;
    state = State.LISTEN;
  }

  /** A reply or a request of this end. */
  private Offer offer(CmEvent.Connection asked) {
    return new Offer(
        port.device.guid,
        asked.queuePair() & Psn.MASK,
        startingPsn,
        asked.responderResources(),
        asked.initiatorDepth(),
        asked.flowControl(),
        Math.min(7, asked.rnrRetryCount()),
        asked.sharedQueue(),
        asked.vendor());
  }

  public void connect(CmEvent.Connection asked) {
    require(State.ROUTE_RESOLVED);
    CmHeader header = new CmHeader(source, path.destination().address());
    CmAgent agent = manager.agent(port.device);
    if (isDatagram()) {
      byte[] data = padded(asked.data(), CmHeader.LENGTH, SidrReq.DATA);
      header.write(data);
      state = State.CONNECT;
      lookup = CmLookup.active(agent, this, port, path, service(destination), data);
    } else {
      byte[] data = padded(asked.data(), CmHeader.LENGTH, Req.DATA);
      header.write(data);
      state = State.CONNECT;
      exchange = CmExchange.active(agent, this, port, path);
      agent.add(exchange);
      exchange.connect(
          offer(asked),
          service(destination),
          Math.min(7, asked.retryCount()),
          isUnreliable(),
          asked.options(),
          data);
    }
  }

  /** Makes the identifier of a request; null if the backlog is full. */
  @Nullable CmId requested(CmHeader header, SoftPort arrival) {
    if (backlog == 0) {
      return null;
    }
    backlog--;
    CmId made = new CmId(manager, channel, portSpace, queuePairType);
    made.isFresh = true;
    made.port = arrival;
    made.source = new InetSocketAddress(header.destination(), source.getPort());
    made.destination = header.source();
    made.typeOfService = typeOfService;
    made.ackTimeout = ackTimeout;
    made.state = State.CONNECT;
    return made;
  }

  /** A request for a connection arrived, for which {@link #requested} made an identifier. */
  void connectionRequested(CmExchange from, CmId listener, Req req, int options) {
    exchange = from;
    path = from.path;
    listener.tell(
        rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(),
        0,
        new CmEvent.Request(
            this, CmEvent.Connection.of(req.offer(), req.retryCount(), options, user(req.data()))));
  }

  /** A request for a datagram service arrived, for which {@link #requested} made an identifier. */
  void lookupRequested(CmLookup from, CmId listener, byte[] data) {
    lookup = from;
    path = from.path();
    listener.tell(
        rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(),
        0,
        new CmEvent.Request(this, CmEvent.Service.of(user(data))));
  }

  /**
   * Private data in a field, from an offset on.
   *
   * @throws VerbsException EINVAL if the data is too long
   */
  private static byte[] padded(byte[] data, int offset, int length) {
    CallFailure.invalidIf(
        data.length > length - offset,
        "private data has at most " + (length - offset) + " bytes, not " + data.length);
    byte[] field = new byte[length];
    System.arraycopy(data, 0, field, offset, data.length);
    return field;
  }

  private static byte[] user(byte[] data) {
    return Arrays.copyOfRange(data, CmHeader.LENGTH, data.length);
  }

  /** The event of a request was taken: the listener takes another one. */
  public void requestTaken() {
    backlog++;
  }

  public void accept(CmEvent.Connection asked) {
    isFresh = false;
    require(State.CONNECT);
    try {
      if (lookup != null) {
        answer(SIDR_SUCCESS, asked.queuePair(), asked.data());
      } else {
        exchange()
            .accept(
                offer(asked),
                DEFAULT_QUEUE_KEY,
                asked.options(),
                padded(asked.data(), 0, CmMessage.Rep.DATA));
      }
    } catch (VerbsException e) {
      rejectWithoutEvent(e);
      throw e;
    }
  }

  private void rejectWithoutEvent(VerbsException failure) {
    try {
      reject(CmExchange.REASON_CONSUMER, new byte[0]);
    } catch (VerbsException e) {
      failure.addSuppressed(e);
    }
  }

  private void answer(int status, int queuePair, byte[] data) {
    byte[] padded = padded(data, 0, SidrRep.DATA);
    lookup.answer(status, queuePair, status == SIDR_SUCCESS ? DEFAULT_QUEUE_KEY : 0, padded);
  }

  private CmExchange exchange() {
    if (exchange == null) {
      throw CallFailure.invalid("there is no connection");
    }
    return exchange;
  }

  public void establish() {
    require(State.CONNECT);
    exchange().establish();
  }

  public void reject(int reason, byte[] data) {
    isFresh = false;
    if (lookup != null) {
      answer(SIDR_REJECT, 0, data);
    } else if (exchange != null) {
      exchange.reject(reason, padded(data, 0, CmMessage.Rej.DATA));
    } else {
      throw CallFailure.invalid("there is no request");
    }
  }

  public void notifyOf(int event) {
    CallFailure.invalidIf(
        port == null || exchange == null || event != rdma_h.IBV_EVENT_COMM_EST(),
        "there is no connection, or another event than COMM_EST");
    exchange.notifyEstablished();
  }

  public void disconnect() {
    exchange().disconnect();
  }

  /** What the connection tells. */
  void connectionEvent(int type, int status, CmEvent.Parameters parameters) {
    State wanted = type == rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT() ? State.DISCONNECT : State.CONNECT;
    if (state != wanted || isFresh) {
      return;
    }
    if (type == rdma_h.RDMA_CM_EVENT_DISCONNECTED()) {
      state = State.DISCONNECT;
    }
    tell(type, status, parameters);
  }

  private void tell(int type, int status, CmEvent.Parameters parameters) {
    channel.add(new CmEvent(type, this, status, parameters));
  }

  /** An event of the program's. */
  public void userEvent(int type, int status, long argument) {
    tell(type, status, new CmEvent.Argument(argument));
  }

  /**
   * Sets the attributes of a queue pair for a state.
   *
   * @return which attributes are set
   */
  int setAttributes(int target, CStruct attributes) {
    if (port == null) {
      throw CallFailure.invalid("the identifier is not bound to a device");
    }
    if (exchange != null) {
      int mask = exchange.setAttributes(target, attributes);
      if (target == rdma_h.IBV_QPS_RTS() && ackTimeout >= 0) {
        attributes.putByte("timeout", ackTimeout);
      }
      return mask;
    }
    attributes.putByte("port_num", port.number);
    int mask = rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT();
    if (isDatagram()) {
      attributes.putInt("qkey", DEFAULT_QUEUE_KEY);
      return mask | rdma_h.IBV_QP_QKEY();
    }
    return mask | rdma_h.IBV_QP_ACCESS_FLAGS();
  }

  // Multicast

  public void join(CmMembership membership) {
    CallFailure.invalidIf(!isDatagram(), "groups are of datagrams");
    if ((state != State.ADDRESS_BOUND && state != State.ADDRESS_RESOLVED) || port == null) {
      throw CallFailure.invalid("the identifier is in state " + state);
    }
    if (!membership.group.isIpv4()) {
      throw CallFailure.of(Errno.ENOTSUPP, "as over RoCE v2, groups are of IPv4 (ENOTSUPP)");
    }
    memberships.add(membership);
    Path path =
        new Path(Gids.of(source.getAddress()), membership.group, 0, typeOfService, HOP_LIMIT, 0, 0);
    CmEvent.Service service =
        new CmEvent.Service(new byte[0], port, path, Psn.MASK, DEFAULT_QUEUE_KEY);
    tell(rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN(), 0, new CmEvent.Group(membership, service));
  }

  public void leave(CmMembership membership) {
    memberships.remove(membership);
    List<CmEvent> _ =
        channel.remove(
            event ->
                event.parameters() instanceof CmEvent.Group group
                    && group.membership() == membership);
  }

  // The end

  /** A device was removed: reports it if the identifier is bound to it. */
  void removed(SoftDevice device) {
    if (port != null && port.device == device && state != State.DESTROYED) {
      resolution.stop();
      state = State.REMOVED;
      tell(rdma_h.RDMA_CM_EVENT_DEVICE_REMOVAL(), 0, CmEvent.NOTHING);
    }
  }

  /** The network was closed: reports that as the removal of the device. */
  void ended() {
    tell(rdma_h.RDMA_CM_EVENT_DEVICE_REMOVAL(), -Errno.ENODEV, CmEvent.NOTHING);
  }

  /**
   * Reports on another channel from now on, also what was not taken yet, with the identifiers of
   * requests that wait there.
   */
  public void moveTo(CmChannel other) {
    List<CmEvent> waiting = channel.remove(event -> event.id() == this);
    channel = other;
    for (CmEvent event : waiting) {
      if (event.parameters() instanceof CmEvent.Request request) {
        request.made().moveTo(other);
      }
      other.add(event);
    }
  }

  /** Ends everything; requests that nobody took are rejected. */
  public void destroy() {
    if (state == State.DESTROYED) {
      return;
    }
    state = State.DESTROYED;
    resolution.stop();
    if (exchange != null) {
      exchange.destroy();
    }
    if (lookup != null) {
      lookup.destroy(SIDR_REJECT);
    }
    manager.ports().release(this);
    for (CmEvent event : channel.remove(event -> event.id() == this)) {
      if (event.parameters() instanceof CmEvent.Request request) {
        request.made().destroy();
      }
    }
  }
}
