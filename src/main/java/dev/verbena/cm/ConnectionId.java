package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Arguments;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.RdmaCma;
import dev.verbena.internal.SocketAddresses;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.Resource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection, a listener, or a datagram service: {@code struct rdma_cm_id}, RDMA's
 * socket.
 *
 * <p>Most operations begin something whose outcome an event on the identifier's {@link
 * EventChannel} tells. Each says which event.
 *
 * <p>Closing an identifier is {@code rdma_destroy_id}, of an endpoint {@code rdma_destroy_ep}. What
 * it has of its own has classes of its own: {@link #options}, {@link #queues}, {@link #multicast},
 * and {@link #foreignQueuePair} for a queue pair that it has not.
 *
 * <p>An identifier in {@linkplain SynchronousMode synchronous mode} has no such channel: its
 * operations wait in C, {@link #takeRequest} for a peer, and {@link #lastEvent} is what they waited
 * for.
 */
public final class ConnectionId extends Resource {
  /** The longest timeout of librdmacm. */
  private static final Duration LONGEST = Duration.ofMillis(Integer.MAX_VALUE);

  private final NativeId nativeId;
  private final PortSpace portSpace;
  private final boolean datagram;
  private final HomeDomain home;
  private final ConnectionQueues queues;
  private final Multicast multicast;

  /** How much the queue pair of each request must hold in synchronous mode; null for none. */
  private final @Nullable QueuePairCapacity requestCapacity;

  /** Null in synchronous mode. */
  private volatile @Nullable EventChannel channel;

  private volatile String name = "unbound";
  private volatile boolean listening;
  private volatile @Nullable ConnectionEvent lastEvent;

  private ConnectionId(
      NativeId nativeId,
      @Nullable EventChannel channel,
      @Nullable ProtectionDomain domain,
      @Nullable QueuePairCapacity requestCapacity) {
    super(nativeId.address(), nativeId::destroy);
    nativeId.belongTo(this, event -> keep(event, null));
    this.nativeId = nativeId;
    this.channel = channel;
    this.requestCapacity = requestCapacity;
    this.portSpace = PortSpace.of(rdma_cm_id.ps(nativeId.struct()));
    this.datagram = rdma_cm_id.qp_type(nativeId.struct()) == rdma_h.IBV_QPT_UD();
    this.home = new HomeDomain(nativeId, domain);
    this.queues = new ConnectionQueues(nativeId, home);
    this.multicast = new Multicast(nativeId);
  }

  /** Takes charge of what C made, or gives it back if what it was made on is closed already. */
  private static ConnectionId of(
      NativeId nativeId,
      @Nullable EventChannel channel,
      @Nullable ProtectionDomain domain,
      @Nullable QueuePairCapacity capacity) {
    try {
      return make(
          List.of(parents(domain, channel)),
          () -> new ConnectionId(nativeId, channel, domain, capacity));
    } catch (IllegalStateException e) {
      nativeId.destroy();
      throw e;
    }
  }

  /** What must be closed after an identifier, of what there is of these. */
  private static Resource[] parents(@Nullable ProtectionDomain domain, EventChannel... channels) {
    return Stream.concat(Stream.of(channels), Stream.ofNullable(domain))
        .filter(Objects::nonNull)
        .toArray(Resource[]::new);
  }

  /** Makes an identifier on a channel that nobody can close meanwhile. */
  static ConnectionId create(EventChannel channel, PortSpace portSpace) {
    NativeChannel on = channel.channel();
    return make(
        List.of(channel),
        () -> {
          long address = newId(on.rdmacm(), on.address(), portSpace);
          return new ConnectionId(
              new NativeId(on.rdmacm(), address, on, false), channel, null, null);
        });
  }

  /** An identifier that C made for a peer's request. */
  static ConnectionId requested(EventChannel channel, MemorySegment segment) {
    NativeChannel on = channel.channel();
    ConnectionId id =
        of(new NativeId(on.rdmacm(), segment.address(), on, false), channel, null, null);
    id.rename();
    return id;
  }

  /** An identifier in synchronous mode that C made, with the queue pair that it may have made. */
  static ConnectionId synchronous(
      NativeId nativeId, @Nullable ProtectionDomain domain, @Nullable QueuePairCapacity capacity) {
    ConnectionId id = of(nativeId, null, domain, capacity);
    try {
      id.queues.adopt(capacity);
      id.rename();
    } catch (Throwable t) {
      id.close();
      throw t;
    }
    return id;
  }

  /** Makes an identifier: {@code rdma_create_id} on a channel, or on 0 for none. */
  static long newId(Librdmacm rdmacm, long channel, PortSpace portSpace) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment id = arena.allocate(ValueLayout.JAVA_LONG);
      rdmacm.rdma_create_id(channel, id.address(), 0, portSpace.code());
      return id.get(ValueLayout.JAVA_LONG, 0);
    }
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
      nativeId.call((rdmacm, id) -> rdmacm.rdma_bind_addr(id, address.address()));
    } catch (VerbsException e) {
      throw explained(e, "binding to " + local, local);
    }
    rename();
  }

  /**
   * Finds the way to an address, and binds the identifier to the device of that way: {@code
   * rdma_resolve_addr}. {@link EventType#ADDR_RESOLVED} or {@link EventType#ADDR_ERROR} follows.
   *
   * @param local the address to come from; null lets the routing table choose
   * @param peer the address to go to
   * @param timeout how long the resolution may take. Rather short, to be asked again: Linux may
   *     miss a neighbour's answer and notice it only when the time is over
   */
  public void resolveAddress(
      @Nullable InetSocketAddress local, InetSocketAddress peer, Duration timeout) {
    Objects.requireNonNull(peer, "peer");
    int millis = millis(timeout);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment source = SocketAddresses.write(local, arena);
      MemorySegment destination = SocketAddresses.write(peer, arena);
      nativeId.call(
          (rdmacm, id) ->
              rdmacm.rdma_resolve_addr(id, source.address(), destination.address(), millis));
    } catch (VerbsException e) {
      throw explained(e, "resolving " + peer + (local == null ? "" : " from " + local), peer);
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
    nativeId.requireDevice();
    int millis = millis(timeout);
    try {
      nativeId.call((rdmacm, id) -> rdmacm.rdma_resolve_route(id, millis));
    } catch (VerbsException e) {
      throw explained(e, "resolving the route", peerAddress().orElse(null));
    }
    rename();
  }

  /**
   * The identifier's own address: {@code rdma_get_local_addr}.
   *
   * @return the address, or empty before binding and for an address that is not of IP
   */
  public Optional<InetSocketAddress> localAddress() {
    return nativeId.read(id -> SocketAddresses.read(RdmaCma.rdma_get_local_addr(id.address())));
  }

  /**
   * The peer's address: {@code rdma_get_peer_addr}.
   *
   * @return the address, or empty before resolution, on a listener, and for an address that is not
   *     of IP
   */
  public Optional<InetSocketAddress> peerAddress() {
    // C has zeros for none, in the family of the own address.
    return nativeId
        .read(id -> SocketAddresses.read(RdmaCma.rdma_get_peer_addr(id.address())))
        .filter(peer -> peer.getPort() != 0 || !peer.getAddress().isAnyLocalAddress());
  }

  /**
   * The identifier's own port: {@code rdma_get_src_port}.
   *
   * @return the port, or 0 before binding
   */
  public int localPort() {
    return port(nativeId.read(id -> nativeId.rdmacm().rdma_get_src_port(id.address())));
  }

  /**
   * The peer's port: {@code rdma_get_dst_port}.
   *
   * @return the port, or 0 without a peer
   */
  public int peerPort() {
    return port(nativeId.read(id -> nativeId.rdmacm().rdma_get_dst_port(id.address())));
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
    Arguments.range("backlog", backlog, 0, Integer.MAX_VALUE);
    nativeId.call("listening", (rdmacm, id) -> rdmacm.rdma_listen(id, backlog));
    listening = true;
    rename();
  }

  /**
   * Asks the peer for a connection on the {@linkplain ConnectionParameters#DEFAULT usual} terms,
   * without private data.
   *
   * @see #connect(ConnectionParameters, byte[])
   */
  public void connect() {
    connect(ConnectionParameters.DEFAULT, PrivateData.NONE);
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
    nativeId.requireDevice();
    try (Arena arena = Arena.ofConfined()) {
      long param = parameters.write(privateData, arena).address();
      nativeId.call((rdmacm, id) -> rdmacm.rdma_connect(id, param));
    } catch (VerbsException e) {
      throw PrivateData.explain(e, "connecting " + this, privateData);
    }
  }

  /**
   * Accepts a request on the {@linkplain ConnectionParameters#DEFAULT usual} terms, without private
   * data.
   *
   * @see #accept(ConnectionParameters, byte[])
   */
  public void accept() {
    accept(ConnectionParameters.DEFAULT, PrivateData.NONE);
  }

  /**
   * Accepts the request that made this identifier: {@code rdma_accept}. {@link
   * EventType#ESTABLISHED} follows, or an error; after a datagram service's answer, nothing. If the
   * kernel takes no such acceptance, it refuses the peer.
   *
   * @param parameters what is agreed to
   * @param privateData bytes for the peer: 196 at most, 136 from a datagram service
   * @throws IllegalStateException if there is no queue pair on the identifier, nor one named in the
   *     parameters
   */
  public void accept(ConnectionParameters parameters, byte[] privateData) {
    nativeId.requireDevice();
    if (!nativeId.hasQueuePair() && parameters.queuePairNumber() == 0) {
      throw new IllegalStateException(
          this + " has no queue pair: create one, or name another one's number");
    }
    try (Arena arena = Arena.ofConfined()) {
      long param = parameters.write(privateData, arena).address();
      nativeId.call((rdmacm, id) -> rdmacm.rdma_accept(id, param));
    } catch (VerbsException e) {
      throw PrivateData.explain(e, "accepting " + this, privateData);
    }
  }

  /** Refuses the request that made this identifier, without private data: {@code rdma_reject}. */
  public void reject() {
    reject(PrivateData.NONE);
  }

  /**
   * Refuses the request that made this identifier: {@code rdma_reject}. The peer gets {@link
   * EventType#REJECTED} with {@link RejectReason#CONSUMER_DEFINED}.
   *
   * @param privateData bytes for the peer: 148 at most, 136 from a datagram service
   */
  public void reject(byte[] privateData) {
    refuse(
        privateData,
        data -> (rdmacm, id) -> rdmacm.rdma_reject(id, data, (byte) privateData.length));
  }

  /**
   * Refuses the request because of its enhanced connection establishment: {@code rdma_reject_ece}.
   * The peer gets {@link EventType#REJECTED} with {@link RejectReason#VENDOR_OPTION_NOT_SUPPORTED}.
   *
   * @param privateData bytes for the peer: 148 at most
   */
  public void rejectEnhanced(byte[] privateData) {
    refuse(
        privateData,
        data -> (rdmacm, id) -> rdmacm.rdma_reject_ece(id, data, (byte) privateData.length));
  }

  private void refuse(byte[] privateData, LongFunction<NativeId.Call> reject) {
    try (Arena arena = Arena.ofConfined()) {
      long data = PrivateData.write(privateData, arena).address();
      nativeId.call(reject.apply(data));
    } catch (VerbsException e) {
      throw PrivateData.explain(e, "refusing " + this, privateData);
    }
  }

  /**
   * Says that data came before the word that the connection stands: {@code rdma_notify} with {@code
   * IBV_EVENT_COMM_EST}, the only event that the kernel listens to.
   */
  public void notifyCommunicationEstablished() {
    int event = rdma_h.IBV_EVENT_COMM_EST();
    nativeId.call("notifying", (rdmacm, id) -> rdmacm.rdma_notify(id, event));
  }

  /**
   * Ends the connection and flushes its work: {@code rdma_disconnect}. The peer gets {@link
   * EventType#DISCONNECTED}, and so does this end when the peer disconnects in turn, or has not
   * done so for long. {@link EventType#TIMEWAIT_EXIT} follows later.
   */
  public void disconnect() {
    nativeId.call("disconnecting", Librdmacm::rdma_disconnect);
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
    nativeId.call(
        "writing an event",
        (rdmacm, id) -> rdmacm.rdma_write_cm_event(id, EventType.USER.code(), status, argument));
  }

  /** Disconnects in answer to the peer, or in vain. */
  void endQuietly() {
    // It fails if both ends disconnected at once, or the device is gone.
    nativeId.callQuietly(Librdmacm::rdma_disconnect);
  }

  // Channels

  /**
   * Reports on another channel from now on, also what was not read yet: {@code rdma_migrate_id}.
   *
   * @param target the channel, which closes the identifier when it is closed
   */
  public void migrate(EventChannel target) {
    reportOn(Objects.requireNonNull(target, "target"));
  }

  /** Waits in C from now on: {@code rdma_migrate_id} to a channel of the identifier's own. */
  public void migrateToSynchronous() {
    reportOn(null);
  }

  private void reportOn(@Nullable EventChannel target) {
    EventChannel source = channel;
    if (target == source) {
      return;
    }
    nativeId.requireNobodyWaits();
    // Whichever channel is closed meanwhile closes the identifier, before C lets go of the channel.
    moveTo(parents(home.given(), source, target));
    try {
      nativeId.migrate(struct(source), struct(target), () -> channel = target);
    } catch (VerbsException e) {
      stayOn(source, e);
      throw e.explained("migrating of " + this);
    } catch (RuntimeException e) {
      stayOn(source, e);
      throw e;
    }
    moveTo(parents(home.given(), target));
  }

  private static @Nullable NativeChannel struct(@Nullable EventChannel of) {
    return of == null ? null : of.channel();
  }

  private void stayOn(@Nullable EventChannel source, RuntimeException failure) {
    try {
      moveTo(parents(home.given(), source));
    } catch (IllegalStateException closed) {
      failure.addSuppressed(closed);
    }
  }

  /**
   * The channel that the identifier reports on.
   *
   * @return the channel, or empty in synchronous mode
   */
  public Optional<EventChannel> channel() {
    return Optional.ofNullable(channel);
  }

  // Queues

  /**
   * The domain that the identifier's queues belong to.
   *
   * @return the domain of its queue pair; without one the domain that the identifier was made with,
   *     or else librdmacm's own for the device
   * @throws IllegalStateException if the identifier is not bound to a device yet
   */
  public ProtectionDomain domain() {
    nativeId.requireDevice();
    return queuePair().map(QueuePair::domain).orElseGet(home::get);
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
    return new ConnectionOptions(nativeId);
  }

  /**
   * The queue pair and the queues around it.
   *
   * @return what makes them and knows them
   */
  public ConnectionQueues queues() {
    return queues;
  }

  /**
   * The queue pair of the identifier.
   *
   * @return the queue pair that {@link #queues} made last, or empty if there is none
   */
  public Optional<QueuePair> queuePair() {
    return queues.queuePair();
  }

  /**
   * How to connect a queue pair that librdmacm did not make.
   *
   * @return what takes such a queue pair through its states
   */
  public ForeignQueuePair foreignQueuePair() {
    return new ForeignQueuePair(nativeId);
  }

  /**
   * The multicast groups.
   *
   * @return what joins and leaves them
   */
  public Multicast multicast() {
    return multicast;
  }

  /**
   * The device that the identifier is bound to.
   *
   * @return a context that all identifiers of the device share
   * @throws IllegalStateException if it is not bound to a device yet
   */
  public Context context() {
    return nativeId.context();
  }

  /**
   * Whether the identifier is bound to a device: after binding to a device's address, after the
   * resolution of one, and from the start where a request made it.
   *
   * @return true if it is
   */
  public boolean hasDevice() {
    return nativeId.hasDevice();
  }

  /**
   * The port of the device that the identifier is bound to.
   *
   * @return the port, or 0 before binding to a device
   */
  public int portNumber() {
    return Byte.toUnsignedInt(nativeId.read(rdma_cm_id::port_num));
  }

  // Synchronous mode

  /**
   * Waits in C for a peer, in {@linkplain SynchronousMode synchronous mode}: {@code
   * rdma_get_request}.
   *
   * @return an identifier in synchronous mode, to be accepted or rejected, and closed; it has a
   *     queue pair if the listener was made with a capacity, on the domain that the listener was
   *     made with
   * @throws IllegalStateException if this identifier reports on an event channel, or does not
   *     listen
   */
  public ConnectionId takeRequest() {
    if (nativeId.hasChannel()) {
      throw new IllegalStateException(this + " reports requests on its event channel");
    }
    if (!listening) {
      throw new IllegalStateException(
          this + " does not listen, so no request can come: call listen");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
      nativeId.call(
          "taking a request", (rdmacm, id) -> rdmacm.rdma_get_request(id, pointer.address()));
      NativeId made =
          new NativeId(nativeId.rdmacm(), pointer.get(ValueLayout.JAVA_LONG, 0), null, true);
      ConnectionId request = synchronous(made, home.given(made.device()), requestCapacity);
      made.takeEvent(event -> request.keep(event, this));
      return request;
    }
  }

  /**
   * The last event of an identifier in {@linkplain SynchronousMode synchronous mode}, with what the
   * peer sent along.
   *
   * @return the event, or empty if there is none, as always outside of synchronous mode
   */
  public Optional<ConnectionEvent> lastEvent() {
    return nativeId.hasChannel() ? Optional.empty() : Optional.ofNullable(lastEvent);
  }

  private void keep(MemorySegment event, @Nullable ConnectionId listener) {
    lastEvent = ConnectionEvent.copy(event, this, listener);
  }

  // What it is made of

  /** The C struct, for the classes of this package that make or wait on an identifier. */
  NativeId nativeId() {
    return nativeId;
  }

  @Override
  protected void beforeClose() {
    nativeId.requireNobodyWaits();
  }

  private VerbsException explained(
      VerbsException e, String doing, @Nullable InetSocketAddress address) {
    return e.explained(doing + " of " + this + AddressAdvice.on(e.errno(), address));
  }

  /** C counts milliseconds in an int: what is longer is as good as for ever. */
  private static int millis(Duration timeout) {
    if (!timeout.isPositive()) {
      throw new IllegalArgumentException("timeout must be positive: " + timeout);
    }
    return timeout.compareTo(LONGEST) >= 0
        ? Integer.MAX_VALUE
        : (int) Math.max(1, timeout.toMillis());
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
