package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Checks;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.internal.RdmaVerbs;
import dev.verbena.internal.SocketAddresses;
import dev.verbena.raw.ibv_ece;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_cm_join_mc_attr_ex;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.Resource;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * One end of a connection, a listener, or a datagram service: {@code struct rdma_cm_id}, RDMA's
 * socket.
 *
 * <p>Most operations begin something whose outcome an event on the identifier's {@link
 * EventChannel} tells. Each says which event.
 *
 * <p>Closing an identifier is {@code rdma_destroy_id}, of an endpoint {@code rdma_destroy_ep};
 * closing its queue pair {@code rdma_destroy_qp}, its shared receive queue {@code
 * rdma_destroy_srq}.
 *
 * <p>An identifier in synchronous mode has no such channel: its operations wait in C for their
 * outcome, with no end but the outcome, and fail with the errno that librdmacm makes of the event.
 * {@link Endpoint} waits better.
 */
public final class ConnectionId extends Resource {
  private static final byte[] NOTHING = {};
  private static final int LONGEST_PRIVATE_DATA = 255;

  private final Librdmacm rdmacm;
  private final Handle handle;
  private final MemorySegment struct;
  private final PortSpace portSpace;
  private final boolean datagram;
  private volatile String name = "unbound";
  private ProtectionDomain domain;
  private QueuePair queuePair;
  private CompletionQueue sendCompletions;
  private CompletionQueue receiveCompletions;
  private SharedReceiveQueue sharedReceives;

  /** Of an endpoint that listens: what librdmacm makes for each request. */
  private QueuePairCapacity requestCapacity;

  private ConnectionId(Librdmacm rdmacm, Handle handle, Resource... parents) {
    super(handle.address(), handle::destroy, parents);
    this.rdmacm = rdmacm;
    this.handle = handle;
    this.struct = Memory.at(handle.address(), rdma_cm_id.sizeof());
    this.portSpace = PortSpace.of(rdma_cm_id.ps(struct));
    this.datagram = rdma_cm_id.qp_type(struct) == rdma_h.IBV_QPT_UD();
  }

  static ConnectionId create(EventChannel channel, PortSpace portSpace) {
    return reporting(channel, newId(channel.rdmacm(), channel.segment().address(), portSpace));
  }

  /** An identifier that C made for a peer's request. */
  static ConnectionId requested(EventChannel channel, MemorySegment segment) {
    ConnectionId id = reporting(channel, segment.address());
    id.rename();
    return id;
  }

  private static ConnectionId reporting(EventChannel channel, long address) {
    Handle handle = new Handle(channel.rdmacm(), address, channel, false);
    ConnectionId id = new ConnectionId(channel.rdmacm(), handle, channel);
    channel.add(address, id);
    return id;
  }

  private static long newId(Librdmacm rdmacm, long channel, PortSpace portSpace) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment id = arena.allocate(ValueLayout.JAVA_LONG);
      rdmacm.rdma_create_id(channel, id.address(), 0, portSpace.code());
      return id.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  /**
   * Makes an identifier in synchronous mode: {@code rdma_create_id} without a channel.
   *
   * @param portSpace the kind of service
   * @return an identifier, to be closed
   */
  public static ConnectionId createSynchronous(PortSpace portSpace) {
    Librdmacm rdmacm = Provider.system().rdmacm();
    long address = newId(rdmacm, 0, Objects.requireNonNull(portSpace, "portSpace"));
    return new ConnectionId(rdmacm, new Handle(rdmacm, address, null, false));
  }

  // Addresses and routes

  /**
   * Gives the identifier an address of its own: {@code rdma_bind_addr}. An address of a device
   * binds it to the device.
   *
   * @param local an address of this machine, or the wildcard address; port 0 lets the kernel choose
   * @throws VerbsException EADDRINUSE if the port is taken, EADDRNOTAVAIL or ENODEV if no RDMA
   *     device has the address
   */
  public void bind(InetSocketAddress local) {
    Objects.requireNonNull(local, "local");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = SocketAddresses.write(local, arena);
      explain("binding to " + local, () -> rdmacm.rdma_bind_addr(address(), address.address()));
    }
    rename();
  }

  /**
   * Finds the way to an address, and binds the identifier to the device of that way: {@code
   * rdma_resolve_addr}. {@link EventType#ADDRESS_RESOLVED} or {@link EventType#ADDRESS_ERROR}
   * follows.
   *
   * @param local the address to come from; null lets the routing table choose
   * @param peer the address to go to
   * @param timeout how long the resolution may take
   */
  public void resolveAddress(InetSocketAddress local, InetSocketAddress peer, Duration timeout) {
    Objects.requireNonNull(peer, "peer");
    int millis = millis(timeout);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment source = SocketAddresses.write(local, arena);
      MemorySegment destination = SocketAddresses.write(peer, arena);
      explain(
          "resolving " + peer + (local == null ? "" : " from " + local),
          () ->
              rdmacm.rdma_resolve_addr(address(), source.address(), destination.address(), millis));
    }
    rename();
  }

  /**
   * Finds the route to the resolved address: {@code rdma_resolve_route}. {@link
   * EventType#ROUTE_RESOLVED} or {@link EventType#ROUTE_ERROR} follows.
   *
   * @param timeout how long the resolution may take
   * @throws IllegalStateException if no address was resolved yet
   */
  public void resolveRoute(Duration timeout) {
    requireDevice();
    int millis = millis(timeout);
    explain("resolving the route", () -> rdmacm.rdma_resolve_route(address(), millis));
    rename();
  }

  /**
   * The identifier's own address: {@code rdma_get_local_addr}.
   *
   * @return the address, or empty before binding and for an address that is not of IP
   */
  public Optional<InetSocketAddress> localAddress() {
    return SocketAddresses.read(RdmaVerbs.rdma_get_local_addr(address()));
  }

  /**
   * The peer's address: {@code rdma_get_peer_addr}.
   *
   * @return the address, or empty before resolution, on a listener, and for an address that is not
   *     of IP
   */
  public Optional<InetSocketAddress> peerAddress() {
    return SocketAddresses.read(RdmaVerbs.rdma_get_peer_addr(address()));
  }

  /**
   * The identifier's own port: {@code rdma_get_src_port}.
   *
   * @return the port, or 0 before binding
   */
  public int localPort() {
    return port(rdmacm.rdma_get_src_port(address()));
  }

  /**
   * The peer's port: {@code rdma_get_dst_port}.
   *
   * @return the port, or 0 without a peer
   */
  public int peerPort() {
    return port(rdmacm.rdma_get_dst_port(address()));
  }

  private static int port(short bigEndian) {
    return Short.toUnsignedInt(Short.reverseBytes(bigEndian));
  }

  // Connections

  /**
   * Waits for peers from now on: {@code rdma_listen}. Each that comes is a {@link
   * EventType#CONNECT_REQUEST}.
   *
   * @param backlog how many requests may wait for being read; 0 leaves it to the kernel
   */
  public void listen(int backlog) {
    Checks.range("backlog", backlog, 0, Integer.MAX_VALUE);
    explain("listening", () -> rdmacm.rdma_listen(address(), backlog));
    rename();
  }

  /**
   * Asks the peer for a connection on the {@linkplain ConnectionParameters#DEFAULT usual} terms,
   * without private data.
   *
   * @see #connect(ConnectionParameters, byte[])
   */
  public void connect() {
    connect(ConnectionParameters.DEFAULT, NOTHING);
  }

  /**
   * Asks the peer for a connection, or where its datagram service is: {@code rdma_connect}. {@link
   * EventType#ESTABLISHED} follows (without a queue pair on the identifier, {@link
   * EventType#CONNECT_RESPONSE}), or {@link EventType#REJECTED}, {@link EventType#UNREACHABLE},
   * {@link EventType#CONNECT_ERROR}.
   *
   * @param parameters what is asked for; all but the private data are for connections only
   * @param privateData bytes for the peer: 56 at most over RoCE with IP addresses, 180 to a
   *     datagram service
   * @throws IllegalStateException if the route was not resolved
   */
  public void connect(ConnectionParameters parameters, byte[] privateData) {
    requireDevice();
    withParameters(
        "connecting",
        parameters,
        privateData,
        param -> rdmacm.rdma_connect(address(), param.address()));
  }

  /**
   * Accepts a request on the {@linkplain ConnectionParameters#DEFAULT usual} terms, without private
   * data.
   *
   * @see #accept(ConnectionParameters, byte[])
   */
  public void accept() {
    accept(ConnectionParameters.DEFAULT, NOTHING);
  }

  /**
   * Accepts the request that made this identifier: {@code rdma_accept}. {@link
   * EventType#ESTABLISHED} follows, or an error; after a datagram service's answer, nothing.
   *
   * @param parameters what is agreed to
   * @param privateData bytes for the peer: 196 at most, 136 from a datagram service
   * @throws IllegalStateException if there is no queue pair on the identifier, nor one named in the
   *     parameters
   */
  public void accept(ConnectionParameters parameters, byte[] privateData) {
    requireDevice();
    if (!hasQueuePair() && parameters.queuePairNumber() == 0) {
      throw new IllegalStateException(
          this + " has no queue pair: create one, or name another one's number");
    }
    withParameters(
        "accepting",
        parameters,
        privateData,
        param -> rdmacm.rdma_accept(address(), param.address()));
  }

  /** Refuses the request that made this identifier, without private data: {@code rdma_reject}. */
  public void reject() {
    reject(NOTHING);
  }

  /**
   * Refuses the request that made this identifier: {@code rdma_reject}. The peer gets {@link
   * EventType#REJECTED} with {@link RejectReason#CONSUMER_DEFINED}.
   *
   * @param privateData bytes for the peer: 148 at most, 136 from a datagram service
   */
  public void reject(byte[] privateData) {
    withPrivateData(
        "refusing",
        privateData,
        (data, length) -> rdmacm.rdma_reject(address(), data.address(), length));
  }

  /**
   * Refuses the request because of its enhanced connection establishment: {@code rdma_reject_ece}.
   * The peer gets {@link EventType#REJECTED} with {@link RejectReason#VENDOR_OPTION_NOT_SUPPORTED}.
   *
   * @param privateData bytes for the peer: 148 at most
   */
  public void rejectEnhanced(byte[] privateData) {
    withPrivateData(
        "refusing",
        privateData,
        (data, length) -> rdmacm.rdma_reject_ece(address(), data.address(), length));
  }

  /**
   * Completes a connection whose queue pair is not the identifier's, after {@link
   * EventType#CONNECT_RESPONSE}: {@code rdma_establish}. The peer gets {@link
   * EventType#ESTABLISHED}.
   *
   * @throws IllegalStateException if the identifier has a queue pair, which is connected without
   *     this
   */
  public void establish() {
    requireNoQueuePair("it establishes by itself");
    explain("establishing", () -> rdmacm.rdma_establish(address()));
  }

  /**
   * Says that data came before the word that the connection stands: {@code rdma_notify} with {@code
   * IBV_EVENT_COMM_EST}, the only event that the kernel listens to.
   */
  public void notifyCommunicationEstablished() {
    int event = rdma_h.IBV_EVENT_COMM_EST();
    explain("notifying", () -> rdmacm.rdma_notify(address(), event));
  }

  /**
   * Ends the connection and flushes its work: {@code rdma_disconnect}. The peer gets {@link
   * EventType#DISCONNECTED}, and so does this end when the peer disconnects in turn, or has not
   * done so for long. {@link EventType#TIMEWAIT_EXIT} follows later.
   */
  public void disconnect() {
    explain("disconnecting", () -> rdmacm.rdma_disconnect(address()));
  }

  // Enhanced connection establishment

  /**
   * Says what the vendor's options are of a queue pair that is not the identifier's: {@code
   * rdma_set_local_ece}. They go out with {@link #connect} and {@link #accept}.
   *
   * @param local the options of the queue pair
   * @throws IllegalStateException if the identifier has a queue pair, whose options librdmacm knows
   */
  public void setLocalEnhancement(EnhancedConnection local) {
    if (local.vendorId() == 0) {
      throw new IllegalArgumentException("vendor 0 has no options");
    }
    requireNoQueuePair("librdmacm exchanges its options");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ece = ibv_ece.allocate(arena);
      ibv_ece.vendor_id(ece, local.vendorId());
      ibv_ece.options(ece, local.options());
      rdmacm.rdma_set_local_ece(address(), ece.address());
    }
  }

  /**
   * What the vendor's options of the peer are: {@code rdma_get_remote_ece}.
   *
   * @return what came with the request or the response; zeros where nothing did
   * @throws IllegalStateException if the identifier has a queue pair, whose options librdmacm knows
   */
  public EnhancedConnection remoteEnhancement() {
    requireNoQueuePair("librdmacm exchanges its options");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ece = ibv_ece.allocate(arena);
      rdmacm.rdma_get_remote_ece(address(), ece.address());
      return new EnhancedConnection(ibv_ece.vendor_id(ece), ibv_ece.options(ece));
    }
  }

  // Multicast

  /**
   * Joins a multicast group to send and receive: {@code rdma_join_multicast}. {@link
   * EventType#MULTICAST_JOINED} or {@link EventType#MULTICAST_ERROR} follows.
   *
   * @param group the group's address; its port means nothing
   * @param context a number that comes back as the events' {@link ConnectionEvent#argument}
   * @throws IllegalStateException if the identifier is not bound to a device
   */
  public void joinMulticast(InetSocketAddress group, long context) {
    requireDevice();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = multicast(group, arena);
      explain(
          "joining " + group,
          () -> rdmacm.rdma_join_multicast(address(), address.address(), context));
    }
  }

  /**
   * Joins a multicast group: {@code rdma_join_multicast_ex}. The same events follow.
   *
   * @param group the group's address; its port means nothing
   * @param flag what for
   * @param context a number that comes back as the events' {@link ConnectionEvent#argument}
   * @throws IllegalStateException if the identifier is not bound to a device
   */
  public void joinMulticast(InetSocketAddress group, JoinFlag flag, long context) {
    requireDevice();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = rdma_cm_join_mc_attr_ex.allocate(arena);
      rdma_cm_join_mc_attr_ex.comp_mask(
          attr, rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS() | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS());
      rdma_cm_join_mc_attr_ex.join_flags(attr, flag.code());
      rdma_cm_join_mc_attr_ex.addr(attr, multicast(group, arena));
      explain(
          "joining " + group,
          () -> rdmacm.rdma_join_multicast_ex(address(), attr.address(), context));
    }
  }

  /**
   * Leaves a multicast group, or gives up joining it: {@code rdma_leave_multicast}.
   *
   * @param group the address that it was joined with
   * @throws VerbsException EADDRNOTAVAIL if it was not joined
   */
  public void leaveMulticast(InetSocketAddress group) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = multicast(group, arena);
      explain("leaving " + group, () -> rdmacm.rdma_leave_multicast(address(), address.address()));
    }
  }

  private static MemorySegment multicast(InetSocketAddress group, Arena arena) {
    MemorySegment address = SocketAddresses.write(Objects.requireNonNull(group, "group"), arena);
    if (!group.getAddress().isMulticastAddress()) {
      throw new IllegalArgumentException(group + " is no multicast address");
    }
    return address;
  }

  // Events of the user's

  /**
   * Makes an event for whoever takes the channel's events: {@code rdma_write_cm_event}; rdma-core
   * 60. {@link EventType#USER} follows.
   *
   * @param status what the event's {@link ConnectionEvent#status} is to be
   * @param argument what its {@link ConnectionEvent#argument} is to be
   */
  public void writeEvent(int status, long argument) {
    explain(
        "writing an event",
        () -> rdmacm.rdma_write_cm_event(address(), EventType.USER.code(), status, argument));
  }

  // Names

  /**
   * Resolves a name: {@code rdma_resolve_addrinfo}; rdma-core 60. {@link
   * EventType#ADDRESS_INFO_RESOLVED} or {@link EventType#ADDRESS_INFO_ERROR} follows. Name services
   * are asked before this returns, InfiniBand's subnet administrator is not waited for.
   *
   * @param query what to resolve
   */
  public void resolveAddressInfo(AddressQuery query) {
    try (Arena arena = Arena.ofConfined()) {
      long node = query.node(arena);
      long service = query.service(arena);
      long hints = query.hints(arena);
      // Not while the channel is held: a name service may take its time.
      rdmacm.rdma_resolve_addrinfo(address(), node, service, hints);
    } catch (VerbsException e) {
      throw e.explained("resolving " + query);
    }
  }

  /**
   * Takes what the name was resolved to: {@code rdma_query_addrinfo}, once for each {@link
   * EventType#ADDRESS_INFO_RESOLVED}; rdma-core 60.
   *
   * @return the answers
   * @throws VerbsException ENOENT if nothing was resolved since
   */
  public List<AddressInfo> takeAddressInfo() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment result = arena.allocate(ValueLayout.JAVA_LONG);
      explain(
          "taking what was resolved",
          () -> rdmacm.rdma_query_addrinfo(address(), result.address()));
      return AddressQuery.take(rdmacm, result.get(ValueLayout.JAVA_LONG, 0));
    }
  }

  // Synchronous mode

  /**
   * Makes an identifier in synchronous mode, ready to connect or to listen, from what a name was
   * resolved to: {@code rdma_create_ep}.
   *
   * @param info the address, and what it is for
   * @param domain the domain of the queue pair; null for librdmacm's own
   * @param capacity how much the queue pair must hold, of a listener's each request; null for no
   *     queue pair
   * @return an identifier, to be closed
   * @throws VerbsException what became of the address or route
   */
  public static ConnectionId createEndpoint(
      AddressInfo info, ProtectionDomain domain, QueuePairCapacity capacity) {
    Librdmacm rdmacm = Provider.system().rdmacm();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr =
          capacity == null ? MemorySegment.NULL : queuePairAttributes(arena, capacity, false);
      MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
      long pd = domain == null ? 0 : domain.segment().address();
      try {
        rdmacm.rdma_create_ep(pointer.address(), info.write(arena).address(), pd, attr.address());
      } catch (VerbsException e) {
        throw e.explained("making an endpoint " + info);
      }
      long address = pointer.get(ValueLayout.JAVA_LONG, 0);
      Resource[] parents = domain == null ? new Resource[0] : new Resource[] {domain};
      ConnectionId id = new ConnectionId(rdmacm, new Handle(rdmacm, address, null, true), parents);
      id.requestCapacity = capacity;
      id.adoptQueuePair(domain, capacity);
      id.rename();
      return id;
    }
  }

  /**
   * Waits in C for a peer, in synchronous mode: {@code rdma_get_request}.
   *
   * @return an identifier in synchronous mode, to be accepted or rejected, and closed; it has a
   *     queue pair if the listener was made with a capacity
   * @throws IllegalStateException if this identifier reports on an event channel
   */
  public ConnectionId takeRequest() {
    if (handle.channel() != null) {
      throw new IllegalStateException(this + " reports requests on its event channel");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
      explain("taking a request", () -> rdmacm.rdma_get_request(address(), pointer.address()));
      long address = pointer.get(ValueLayout.JAVA_LONG, 0);
      ConnectionId id = new ConnectionId(rdmacm, new Handle(rdmacm, address, null, true));
      id.adoptQueuePair(domain, requestCapacity);
      id.rename();
      return id;
    }
  }

  /**
   * The last event of an identifier in synchronous mode, with what the peer sent along.
   *
   * @return the event, or empty if there is none, as always outside of synchronous mode
   */
  public Optional<ConnectionEvent> lastEvent() {
    requireOpen();
    MemorySegment event = rdma_cm_id.event(struct);
    return event.address() == 0
        ? Optional.empty()
        : Optional.of(
            ConnectionEvent.copy(Memory.at(event.address(), rdma_cm_event.sizeof()), this, null));
  }

  /** Disconnects in answer to the peer, or in vain. */
  void endQuietly() {
    handle.whileNobodyReads(
        () -> {
          if (isOpen()) {
            try {
              rdmacm.rdma_disconnect(handle.address());
            } catch (VerbsException e) {
              // Both ends disconnected at once, or the device is gone: there is nothing to answer.
            }
          }
        });
  }

  // Channels

  /**
   * Reports on another channel from now on, also what was not read yet: {@code rdma_migrate_id}.
   *
   * @param target the channel, which closes the identifier when it is closed
   */
  public void migrate(EventChannel target) {
    EventChannel source = handle.channel();
    if (target == source) {
      return;
    }
    Runnable move =
        () -> {
          explain("migrating", () -> rdmacm.rdma_migrate_id(address(), target.segment().address()));
          if (source != null) {
            source.remove(handle.address());
          }
          handle.channel(target);
          target.add(handle.address(), this);
        };
    moveTo(target);
    try {
      whileNobodyReads(source, target, move);
    } catch (VerbsException e) {
      moveTo(source == null ? new Resource[0] : new Resource[] {source});
      throw e;
    }
  }

  /** Waits in C from now on: {@code rdma_migrate_id} to a channel of the identifier's own. */
  public void migrateToSynchronous() {
    EventChannel source = handle.channel();
    if (source == null) {
      return;
    }
    source.whileNobodyReads(
        () -> {
          explain("migrating", () -> rdmacm.rdma_migrate_id(address(), 0));
          source.remove(handle.address());
          handle.channel(null);
        });
    moveTo();
  }

  /** Takes both channels, in an order that all threads share. */
  private static void whileNobodyReads(EventChannel one, EventChannel other, Runnable action) {
    if (one == null) {
      other.whileNobodyReads(action);
    } else if (one.segment().address() < other.segment().address()) {
      one.whileNobodyReads(() -> other.whileNobodyReads(action));
    } else {
      other.whileNobodyReads(() -> one.whileNobodyReads(action));
    }
  }

  /**
   * The channel that the identifier reports on.
   *
   * @return the channel, or empty in synchronous mode
   */
  public Optional<EventChannel> channel() {
    return Optional.ofNullable(handle.channel());
  }

  // Queues

  /**
   * The domain that the identifier's queues belong to.
   *
   * @return the domain of its queue pair, before that librdmacm's own for the device
   * @throws IllegalStateException if the identifier is not bound to a device yet
   */
  public synchronized ProtectionDomain domain() {
    requireDevice();
    if (domain == null || !domain.isOpen()) {
      domain = ProtectionDomain.borrow(context(), this, rdma_cm_id.pd(struct));
    }
    return domain;
  }

  /**
   * Makes a queue pair on the identifier, with completion queues of its own: {@code
   * rdma_create_qp}. From now on librdmacm takes it through its states.
   *
   * @param capacity how much the queues must hold: at least one request in each direction
   * @return the queue pair, which is closed with the identifier
   * @throws IllegalStateException if the identifier is not bound to a device, or has a queue pair
   */
  public QueuePair createQueuePair(QueuePairCapacity capacity) {
    return createQueuePair(capacity, false);
  }

  /**
   * Makes a queue pair on the identifier, with completion queues of its own: {@code
   * rdma_create_qp}.
   *
   * @param capacity how much the queues must hold: at least one request in each direction
   * @param signalAll whether every send completes, flagged or not
   * @return the queue pair, which is closed with the identifier
   * @throws IllegalStateException if the identifier is not bound to a device, or has a queue pair
   */
  public QueuePair createQueuePair(QueuePairCapacity capacity, boolean signalAll) {
    requireRoomForQueuePair();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = queuePairAttributes(arena, capacity, signalAll);
      ibv_qp_init_attr.qp_type(attr, rdma_cm_id.qp_type(struct));
      explain("creating the queue pair", () -> rdmacm.rdma_create_qp(address(), 0, attr.address()));
      adoptQueuePair(null, QueuePairCapacity.readFrom(ibv_qp_init_attr.cap(attr)));
      return queuePair;
    }
  }

  private static MemorySegment queuePairAttributes(
      Arena arena, QueuePairCapacity capacity, boolean signalAll) {
    if (capacity.sendRequests() < 1 || capacity.receiveRequests() < 1) {
      throw new IllegalArgumentException(
          "a queue pair needs completion queues of at least one entry: " + capacity);
    }
    MemorySegment attr = ibv_qp_init_attr.allocate(arena);
    capacity.writeTo(ibv_qp_init_attr.cap(attr));
    ibv_qp_init_attr.sq_sig_all(attr, signalAll ? 1 : 0);
    return attr;
  }

  /** Wraps the queue pair that librdmacm made, if it made one, with its completion queues. */
  private void adoptQueuePair(ProtectionDomain given, QueuePairCapacity capacity) {
    if (given != null) {
      domain = given;
    }
    if (!hasQueuePair()) {
      return;
    }
    Resource[] parents =
        sharedReceives == null
            ? new Resource[] {this, domain()}
            : new Resource[] {this, domain(), sharedReceives};
    queuePair =
        QueuePair.adopt(domain(), rdma_cm_id.qp(struct), capacity, this::destroyQueuePair, parents);
    sendCompletions = borrow(rdma_cm_id.send_cq_channel(struct), rdma_cm_id.send_cq(struct));
    receiveCompletions = borrow(rdma_cm_id.recv_cq_channel(struct), rdma_cm_id.recv_cq(struct));
  }

  private CompletionQueue borrow(MemorySegment channel, MemorySegment queue) {
    return CompletionQueue.borrow(CompletionChannel.borrow(context(), channel), queue);
  }

  /**
   * Makes a queue pair on the identifier with everything that can be asked for: {@code
   * rdma_create_qp_ex}.
   *
   * @param builder what is asked for, on a domain and completion queues of the identifier's {@link
   *     #context}
   * @return the queue pair, which is closed with the identifier
   * @throws IllegalStateException if the identifier is not bound to a device, or has a queue pair
   */
  public QueuePair createQueuePair(QueuePair.Builder builder) {
    requireRoomForQueuePair();
    queuePair =
        builder.create(
            this,
            new QueuePair.Maker() {
              @Override
              public MemorySegment create(MemorySegment attributes) {
                explain(
                    "creating the queue pair",
                    () -> rdmacm.rdma_create_qp_ex(address(), attributes.address()));
                return rdma_cm_id.qp(struct);
              }

              @Override
              public void destroy() {
                destroyQueuePair();
              }
            });
    return queuePair;
  }

  /**
   * Makes a shared receive queue on the identifier, which its queue pair then receives from: {@code
   * rdma_create_srq}.
   *
   * @param requests how many receives it holds
   * @return the queue, which is closed with the identifier
   * @throws IllegalStateException if the identifier has no device, or has queues already
   */
  public SharedReceiveQueue createSharedReceiveQueue(int requests) {
    return createSharedReceiveQueue(
        domain().sharedReceiveQueue(requests),
        attributes ->
            rdmacm.rdma_create_srq(address(), domain().segment().address(), attributes.address()));
  }

  /**
   * Makes a shared receive queue on the identifier with everything that can be asked for: {@code
   * rdma_create_srq_ex}.
   *
   * @param builder what is asked for, on a domain of the identifier's {@link #context}
   * @return the queue, which is closed with the identifier
   * @throws IllegalStateException if the identifier has no device, or has queues already
   */
  public SharedReceiveQueue createSharedReceiveQueue(SharedReceiveQueue.Builder builder) {
    return createSharedReceiveQueue(
        builder, attributes -> rdmacm.rdma_create_srq_ex(address(), attributes.address()));
  }

  private SharedReceiveQueue createSharedReceiveQueue(
      SharedReceiveQueue.Builder builder, Consumer<MemorySegment> create) {
    requireRoomForQueuePair();
    if (rdma_cm_id.srq(struct).address() != 0) {
      throw new IllegalStateException(this + " already has a shared receive queue");
    }
    sharedReceives =
        builder.create(
            this,
            new SharedReceiveQueue.Maker() {
              @Override
              public MemorySegment create(MemorySegment attributes) {
                explain("creating the shared receive queue", () -> create.accept(attributes));
                return rdma_cm_id.srq(struct);
              }

              @Override
              public void destroy() {
                handle.whileNobodyReads(() -> rdmacm.rdma_destroy_srq(handle.address()));
              }
            });
    return sharedReceives;
  }

  /**
   * The queue pair of the identifier.
   *
   * @return the queue pair that was made last, or empty if there is none
   */
  public Optional<QueuePair> queuePair() {
    return Optional.ofNullable(queuePair).filter(QueuePair::isOpen);
  }

  /**
   * The completion queue for sends that librdmacm made with the queue pair.
   *
   * @return the queue
   * @throws IllegalStateException if librdmacm made none
   */
  public CompletionQueue sendCompletions() {
    return made(sendCompletions);
  }

  /**
   * The completion queue for receives that librdmacm made with the queue pair.
   *
   * @return the queue
   * @throws IllegalStateException if librdmacm made none
   */
  public CompletionQueue receiveCompletions() {
    return made(receiveCompletions);
  }

  /**
   * Single requests on the identifier's queue pair, and waiting for them.
   *
   * @return the functions of {@code rdma_verbs.h}
   * @throws IllegalStateException if librdmacm made no queue pair with completion queues
   */
  public Transfers transfers() {
    CompletionQueue sends = sendCompletions();
    return new Transfers(queuePair, sharedReceives, sends, receiveCompletions());
  }

  private CompletionQueue made(CompletionQueue queue) {
    if (queue == null || !queue.isOpen()) {
      throw new IllegalStateException(this + " has no completion queues of its own");
    }
    return queue;
  }

  private void requireNoQueuePair(String why) {
    if (hasQueuePair()) {
      throw new IllegalStateException(this + " has a queue pair: " + why);
    }
  }

  private void requireRoomForQueuePair() {
    requireDevice();
    if (hasQueuePair()) {
      throw new IllegalStateException(this + " already has a queue pair");
    }
  }

  private void destroyQueuePair() {
    // C waits until each event of a queue that it destroys is acknowledged.
    release(sendCompletions);
    release(receiveCompletions);
    handle.whileNobodyReads(() -> rdmacm.rdma_destroy_qp(handle.address()));
  }

  /**
   * What a queue pair needs to be moved to a state by the caller, instead of by librdmacm: {@code
   * rdma_init_qp_attr}. For queue pairs that are not the identifier's.
   *
   * @param state INIT, RTR or RTS
   * @return attributes for {@link QueuePair#modify}
   */
  public QueuePairAttributes attributesFor(QueuePairState state) {
    requireDevice();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_attr.allocate(arena);
      MemorySegment mask = arena.allocate(ValueLayout.JAVA_INT);
      ibv_qp_attr.qp_state(attr, state.code());
      explain(
          "attributes for " + state,
          () -> rdmacm.rdma_init_qp_attr(address(), attr.address(), mask.address()));
      return QueuePairAttributes.copyOf(attr, mask.get(ValueLayout.JAVA_INT, 0));
    }
  }

  private static void release(CompletionQueue borrowed) {
    if (borrowed != null) {
      borrowed.close();
      borrowed.channel().ifPresent(CompletionChannel::close);
    }
  }

  // What it is

  /**
   * The kind of service.
   *
   * @return the port space it was made in
   */
  public PortSpace portSpace() {
    return portSpace;
  }

  /**
   * Whether datagrams are exchanged instead of a connection made.
   *
   * @return true if its queue pair is of type UD
   */
  public boolean isDatagram() {
    return datagram;
  }

  /**
   * What can be set before the identifier is used.
   *
   * @return its options
   */
  public ConnectionOptions options() {
    return new ConnectionOptions(this);
  }

  void setOption(int level, int name, MemorySegment value) {
    explain(
        "setting option " + name,
        () -> rdmacm.rdma_set_option(address(), level, name, value.address(), value.byteSize()));
  }

  /**
   * The device that the identifier is bound to.
   *
   * @return a context that all identifiers of the device share
   * @throws IllegalStateException if it is not bound to a device yet
   */
  public Context context() {
    requireDevice();
    return Contexts.at(rdma_cm_id.verbs(struct));
  }

  /**
   * Whether the identifier is bound to a device: after binding to a device's address, after the
   * resolution of one, and from the start where a request made it.
   *
   * @return true if it is
   */
  public boolean hasDevice() {
    requireOpen();
    return rdma_cm_id.verbs(struct).address() != 0;
  }

  /**
   * The port of the device that the identifier is bound to.
   *
   * @return the port, or 0 before binding to a device
   */
  public int portNumber() {
    requireOpen();
    return Byte.toUnsignedInt(rdma_cm_id.port_num(struct));
  }

  // Plumbing

  boolean hasQueuePair() {
    requireOpen();
    return rdma_cm_id.qp(struct).address() != 0;
  }

  private void requireDevice() {
    if (!hasDevice()) {
      throw new IllegalStateException(
          this + " has no device yet: bind it to a device's address, or resolve an address");
    }
  }

  private interface WithParam {
    void call(MemorySegment param);
  }

  private void withParameters(
      String doing, ConnectionParameters parameters, byte[] privateData, WithParam function) {
    Objects.requireNonNull(parameters, "parameters");
    withPrivateData(
        doing,
        privateData,
        (data, length) -> {
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment param = rdma_conn_param.allocate(arena);
            parameters.writeTo(param);
            rdma_conn_param.private_data(param, data);
            rdma_conn_param.private_data_len(param, length);
            function.call(param);
          }
        });
  }

  private interface WithData {
    void call(MemorySegment data, byte length);
  }

  private void withPrivateData(String doing, byte[] privateData, WithData function) {
    if (privateData.length > LONGEST_PRIVATE_DATA) {
      throw new IllegalArgumentException(
          privateData.length + " bytes of private data; no transport takes more than 255");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment data =
          privateData.length == 0
              ? MemorySegment.NULL
              : arena.allocateFrom(ValueLayout.JAVA_BYTE, privateData);
      handle.whileNobodyReads(() -> function.call(data, (byte) privateData.length));
    } catch (VerbsException e) {
      boolean perhapsTooLong = e.errno() == Errno.EINVAL && privateData.length > 0;
      throw e.explained(
          doing
              + " "
              + this
              + (perhapsTooLong
                  ? "; are "
                      + privateData.length
                      + " bytes of private data more than the transport takes, or is it too early"
                      + " or too late?"
                  : ""));
    }
  }

  /** Calls C while nobody takes the identifier away, and says more about a failure. */
  private void explain(String doing, Runnable call) {
    try {
      handle.whileNobodyReads(call);
    } catch (VerbsException e) {
      throw e.explained(doing + " of " + this);
    }
  }

  private static int millis(Duration timeout) {
    if (!timeout.isPositive() || timeout.toMillis() > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("a timeout of " + timeout);
    }
    return (int) Math.max(1, timeout.toMillis());
  }

  /** Keeps the addresses for when the struct is gone. */
  private void rename() {
    String peer = peerAddress().map(address -> " to " + address).orElse("");
    name = localAddress().map(Object::toString).orElse("unbound") + peer;
  }

  @Override
  public String toString() {
    return "connection identifier " + name;
  }
}
