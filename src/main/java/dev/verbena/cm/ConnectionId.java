package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Inside;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.RdmaCma;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.SocketAddresses;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
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
 * An RDMA CM identifier: one end of a connection, a listener, or a datagram service ({@code struct
 * rdma_cm_id}). It corresponds to a socket.
 *
 * <p>{@link EventChannel#createId} creates it; a {@link EventType#CONNECT_REQUEST} contains a new
 * one. Most operations start a step whose result is an event on the identifier's {@link
 * EventChannel}; the description of each operation names the events:
 *
 * {@snippet :
 * ConnectionId id = channel.createId(PortSpace.TCP);
 * id.resolveAddress(null, server, Duration.ofSeconds(2)); // ADDR_RESOLVED
 * id.resolveRoute(Duration.ofSeconds(2)); // ROUTE_RESOLVED
 * id.queues().createQueuePair(QueuePairCapacity.of(16));
 * id.connect(); // ESTABLISHED
 * }
 *
 * <p>Further operations are in {@link #options}, {@link #queues}, {@link #multicast}, and {@link
 * #foreignQueuePair} for a queue pair that librdmacm did not create.
 *
 * <p><b>States.</b> An identifier is unbound, bound to an address ({@link #bind}, {@link #listen})
 * or resolved ({@link #resolveAddress}, {@link #resolveRoute}), connected ({@link #connect}, {@link
 * #accept}) and disconnected ({@link #disconnect}). From the address resolution on, or when bound
 * to the address of a device, it {@linkplain #hasDevice has a device}, and queue pairs can be
 * created.
 *
 * <p>An identifier in {@linkplain SynchronousMode synchronous mode} has no such channel: its
 * operations block inside librdmacm, {@link #takeRequest} for a connection request, and {@link
 * #lastEvent} returns the event that they waited for.
 *
 * <p><b>Threads.</b> Any thread may call any method; calls on the identifiers of a channel are
 * serialized.
 *
 * <p><b>Closing.</b> {@link #close()} leaves all multicast groups, destroys the queues and then the
 * identifier: {@code rdma_destroy_id}, for an endpoint of {@link SynchronousMode#createEndpoint}
 * {@code rdma_destroy_ep}. In synchronous mode it throws {@link IllegalStateException} while a
 * thread waits in librdmacm. Closing the channel closes its identifiers.
 *
 * <p>Manual pages: {@code rdma_create_id(3)}, {@code rdma_cm(7)}.
 */
public final class ConnectionId extends Resource {

  private final NativeId nativeId;
  private final PortSpace portSpace;
  private final boolean datagram;
  private final HomeDomain home;
  private final ConnectionQueues queues;
  private final Multicast multicast;

  /** The capacity of the queue pair of each request in synchronous mode; null to create none. */
  private final @Nullable QueuePairCapacity requestCapacity;

  /** Null in synchronous mode. */
  private volatile @Nullable EventChannel channel;

  private volatile String name = "unbound";
  private volatile boolean listening;
  private volatile @Nullable ConnectionEvent lastEvent;

  private ConnectionId(
      Core core,
      NativeId nativeId,
      @Nullable EventChannel channel,
      @Nullable ProtectionDomain domain,
      @Nullable QueuePairCapacity requestCapacity) {
    super(core);
    core.beforeClose(nativeId::requireNobodyWaits);
    core.wrapDestruction(destroy -> nativeId.destroy());
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

  /** Wraps an identifier of librdmacm, or destroys it if its parent is closed already. */
  private static ConnectionId of(
      NativeId nativeId,
      @Nullable EventChannel channel,
      @Nullable ProtectionDomain domain,
      @Nullable QueuePairCapacity capacity) {
    return Core.adopt(
        List.of(parents(domain, channel)),
        nativeId.address(),
        id -> nativeId.destroy(),
        core -> new ConnectionId(core, nativeId, channel, domain, capacity));
  }

  /** Returns the parents of an identifier, without nulls. */
  private static Resource[] parents(@Nullable ProtectionDomain domain, EventChannel... channels) {
    return Stream.concat(Stream.of(channels).filter(Objects::nonNull), Stream.ofNullable(domain))
        .toArray(Resource[]::new);
  }

  /** Creates an identifier on a channel, which cannot be closed meanwhile. */
  static ConnectionId create(EventChannel channel, PortSpace portSpace) {
    NativeChannel on = channel.channel();
    return Core.make(
        List.of(channel),
        () -> newId(on.rdmacm(), on.address(), portSpace),
        on.rdmacm()::rdma_destroy_id,
        core ->
            new ConnectionId(
                core, new NativeId(on.rdmacm(), core.address(), on, false), channel, null, null));
  }

  /** Wraps the identifier that librdmacm created for a connection request. */
  static ConnectionId requested(EventChannel channel, MemorySegment segment) {
    NativeChannel on = channel.channel();
    ConnectionId id =
        of(new NativeId(on.rdmacm(), segment.address(), on, false), channel, null, null);
    id.rename();
    return id;
  }

  /**
   * Wraps an identifier in synchronous mode, with the queue pair that librdmacm may have created.
   */
  static ConnectionId synchronous(
      NativeId nativeId, @Nullable ProtectionDomain domain, @Nullable QueuePairCapacity capacity) {
    ConnectionId id = of(nativeId, null, domain, capacity);
    try {
      id.queues.adopt(capacity);
      id.rename();
    } catch (Throwable t) {
      AfterFailure.close(t, id::close);
      throw t;
    }
    return id;
  }

  /** Creates an identifier: {@code rdma_create_id} on a channel, or on 0 for none. */
  static long newId(Librdmacm rdmacm, long channel, PortSpace portSpace) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment id = arena.allocate(ValueLayout.JAVA_LONG);
      rdmacm.rdma_create_id(channel, id.address(), 0, portSpace.code());
      return id.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  // Addresses and routes

  /**
   * Binds the identifier to a local address: {@code rdma_bind_addr}. The address of a device binds
   * it to the device.
   *
   * @param local an address of this host, or the wildcard address; for port 0 the kernel chooses a
   *     free port
   * @throws IllegalArgumentException if the address is a loopback address, which RDMA devices do
   *     not have: the kernel would treat it as the wildcard address
   * @throws VerbsException EADDRINUSE if the port is in use, EADDRNOTAVAIL or ENODEV if no RDMA
   *     device has the address
   */
  public void bind(InetSocketAddress local) {
    Objects.requireNonNull(local, "local");
    if (AddressAdvice.isLoopback(local) && areDevicesKnown()) {
      AddressAdvice.requireReachable("bind to", local, AddressAdvice.WILDCARD);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = SocketAddresses.write(local, arena);
      nativeId.call((rdmacm, id) -> rdmacm.rdma_bind_addr(id, address.address()));
    } catch (VerbsException e) {
      throw explained(e, "binding to " + local, local);
    }
    rename();
  }

  /** Returns whether the devices of this identifier are those that this thread sees. */
  @SuppressWarnings("ReferenceEquality") // Two implementations are never the same.
  private boolean areDevicesKnown() {
    return nativeId.rdmacm() == Providers.system().rdmacm();
  }

  /**
   * Resolves the address of a peer, and binds the identifier to the device that reaches it: {@code
   * rdma_resolve_addr}. {@link EventType#ADDR_RESOLVED} or {@link EventType#ADDR_ERROR} follows.
   *
   * @param local the source address, or null to choose it by the routing table
   * @param peer the destination address
   * @param timeout the timeout of the resolution. Use a short timeout and repeat the resolution:
   *     Linux may miss a neighbour's reply until the timeout expires
   */
  public void resolveAddress(
      @Nullable InetSocketAddress local, InetSocketAddress peer, Duration timeout) {
    Objects.requireNonNull(peer, "peer");
    int millis = Deadline.millis(timeout);
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
   * Resolves the route to the resolved address: {@code rdma_resolve_route}. {@link
   * EventType#ROUTE_RESOLVED} or {@link EventType#ROUTE_ERROR} follows.
   *
   * @param timeout the timeout of the resolution
   * @throws IllegalStateException if no address was resolved
   */
  public void resolveRoute(Duration timeout) {
    nativeId.requireDevice();
    int millis = Deadline.millis(timeout);
    try {
      nativeId.call((rdmacm, id) -> rdmacm.rdma_resolve_route(id, millis));
    } catch (VerbsException e) {
      throw explained(e, "resolving the route", peerAddress().orElse(null));
    }
    rename();
  }

  /**
   * {@return the local address ({@code rdma_get_local_addr}), or empty before binding and for an
   * address that is no IP address}
   */
  public Optional<InetSocketAddress> localAddress() {
    return nativeId.read(id -> SocketAddresses.read(RdmaCma.rdma_get_local_addr(id.address())));
  }

  /**
   * {@return the peer's address ({@code rdma_get_peer_addr}), or empty before resolution, on a
   * listener, and for an address that is no IP address}
   */
  public Optional<InetSocketAddress> peerAddress() {
    // librdmacm returns zeros for no address, in the family of the local address.
    return nativeId
        .read(id -> SocketAddresses.read(RdmaCma.rdma_get_peer_addr(id.address())))
        .filter(peer -> peer.getPort() != 0 || !peer.getAddress().isAnyLocalAddress());
  }

  /** {@return the local port ({@code rdma_get_src_port}), or 0 before binding} */
  public int localPort() {
    return port(nativeId.read(id -> nativeId.rdmacm().rdma_get_src_port(id.address())));
  }

  /** {@return the peer's port ({@code rdma_get_dst_port}), or 0 without a peer} */
  public int peerPort() {
    return port(nativeId.read(id -> nativeId.rdmacm().rdma_get_dst_port(id.address())));
  }

  private static int port(short bigEndian) {
    return Short.toUnsignedInt(Short.reverseBytes(bigEndian));
  }

  // Connections

  /**
   * Starts to listen: {@code rdma_listen}. Each connection request is a {@link
   * EventType#CONNECT_REQUEST}.
   *
   * @param backlog the maximum number of pending requests; 0 for the kernel's default
   */
  public void listen(int backlog) {
    Ranges.range("backlog", backlog, 0, Integer.MAX_VALUE);
    try {
      nativeId.call((rdmacm, id) -> rdmacm.rdma_listen(id, backlog));
    } catch (VerbsException e) {
      throw explained(e, "listening", localAddress().orElse(null));
    }
    listening = true;
    rename();
  }

  /**
   * Requests a connection with the {@linkplain ConnectionParameters#DEFAULT default} parameters,
   * without private data: {@code rdma_connect}.
   *
   * @see #connect(ConnectionParameters, byte[])
   */
  public void connect() {
    connect(ConnectionParameters.DEFAULT, PrivateData.NONE);
  }

  /**
   * Requests a connection, or resolves a datagram service: {@code rdma_connect}. {@link
   * EventType#ESTABLISHED} follows (without a queue pair on the identifier, {@link
   * EventType#CONNECT_RESPONSE}), or {@link EventType#REJECTED}, {@link EventType#UNREACHABLE},
   * {@link EventType#CONNECT_ERROR}.
   *
   * @param parameters the requested parameters; ignored for a datagram service
   * @param privateData the private data: at most 56 bytes over RoCE with IP addresses, 180 to a
   *     datagram service
   * @throws IllegalStateException if the route is not resolved
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
   * Accepts the connection request with the {@linkplain ConnectionParameters#DEFAULT default}
   * parameters, without private data: {@code rdma_accept}.
   *
   * @see #accept(ConnectionParameters, byte[])
   */
  public void accept() {
    accept(ConnectionParameters.DEFAULT, PrivateData.NONE);
  }

  /**
   * Accepts the connection request of this identifier: {@code rdma_accept}. {@link
   * EventType#ESTABLISHED} or an error event follows; for a datagram service, none. If the kernel
   * does not accept the parameters, it rejects the request.
   *
   * @param parameters the accepted parameters
   * @param privateData the private data: at most 196 bytes, 136 of a datagram service
   * @throws IllegalStateException if the identifier has no queue pair and the parameters contain no
   *     queue pair number
   */
  public void accept(ConnectionParameters parameters, byte[] privateData) {
    nativeId.requireDevice();
    if (!nativeId.hasQueuePair() && parameters.queuePairNumber() == 0) {
      throw new IllegalStateException(
          this + " has no queue pair: create one, or set a queue pair number in the parameters");
    }
    try (Arena arena = Arena.ofConfined()) {
      long param = parameters.write(privateData, arena).address();
      nativeId.call((rdmacm, id) -> rdmacm.rdma_accept(id, param));
    } catch (VerbsException e) {
      throw PrivateData.explain(e, "accepting " + this, privateData);
    }
  }

  /**
   * Rejects the connection request of this identifier, without private data: {@code rdma_reject}.
   */
  public void reject() {
    reject(PrivateData.NONE);
  }

  /**
   * Rejects the connection request of this identifier: {@code rdma_reject}. The peer receives
   * {@link EventType#REJECTED} with {@link RejectReason#CONSUMER_DEFINED}.
   *
   * @param privateData the private data: at most 148 bytes, 136 of a datagram service
   */
  public void reject(byte[] privateData) {
    rejectBy(
        privateData,
        data -> (rdmacm, id) -> rdmacm.rdma_reject(id, data, (byte) privateData.length));
  }

  /**
   * Rejects the connection request because of its enhanced connection establishment (ECE) options:
   * {@code rdma_reject_ece}. The peer receives {@link EventType#REJECTED} with {@link
   * RejectReason#VENDOR_OPTION_NOT_SUPPORTED}.
   *
   * @param privateData the private data: at most 148 bytes
   */
  public void rejectEnhanced(byte[] privateData) {
    rejectBy(
        privateData,
        data -> (rdmacm, id) -> rdmacm.rdma_reject_ece(id, data, (byte) privateData.length));
  }

  private void rejectBy(byte[] privateData, LongFunction<NativeId.Call> reject) {
    try (Arena arena = Arena.ofConfined()) {
      long data = PrivateData.write(privateData, arena).address();
      nativeId.call(reject.apply(data));
    } catch (VerbsException e) {
      throw PrivateData.explain(e, "rejecting " + this, privateData);
    }
  }

  /**
   * Reports that a message arrived before the connection was established: {@code rdma_notify} with
   * {@code IBV_EVENT_COMM_EST}.
   */
  public void notifyCommunicationEstablished() {
    int event = rdma_h.IBV_EVENT_COMM_EST();
    nativeId.call("notifying", (rdmacm, id) -> rdmacm.rdma_notify(id, event));
  }

  /**
   * Disconnects and flushes the queue pair: {@code rdma_disconnect}. The peer receives {@link
   * EventType#DISCONNECTED}; this end receives it when the peer has disconnected, too, or after a
   * timeout. {@link EventType#TIMEWAIT_EXIT} follows later.
   *
   * @throws IllegalStateException in {@linkplain SynchronousMode synchronous mode}, if no
   *     connection was established, or it has been disconnected: librdmacm would wait for an event
   *     that does not follow
   */
  public void disconnect() {
    nativeId.disconnect();
  }

  // User events

  /**
   * Writes an event to the channel: {@code rdma_write_cm_event}; rdma-core 60. {@link
   * EventType#USER} follows.
   *
   * @param status the {@link ConnectionEvent#status} of the event
   * @param argument the {@link ConnectionEvent#argument} of the event
   */
  public void writeEvent(int status, long argument) {
    nativeId.call(
        "writing an event",
        (rdmacm, id) -> rdmacm.rdma_write_cm_event(id, EventType.USER.code(), status, argument));
  }

  /**
   * Disconnects after the peer did; ignores failures.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public void endQuietly(Inside caller) {
    // It fails if both ends disconnected at the same time, or the device was removed.
    nativeId.callQuietly(Librdmacm::rdma_disconnect);
  }

  // Channels

  /**
   * Moves the identifier to another channel, with its unread events: {@code rdma_migrate_id}.
   *
   * <p>Read the pending connection requests of a listener before it migrates: current Linux kernels
   * move their events but not their identifiers, so that librdmacm discards the requests. Software
   * devices move both.
   *
   * @param target the channel; closing it closes the identifier
   * @throws IllegalArgumentException if the channel is of another provider, such as software
   *     devices
   */
  @SuppressWarnings("ReferenceEquality") // Two implementations are never the same.
  public void migrate(EventChannel target) {
    if (Objects.requireNonNull(target, "target").channel().rdmacm() != nativeId.rdmacm()) {
      throw new IllegalArgumentException(target + " is of another provider than " + this);
    }
    reportOn(target);
  }

  /** Moves the identifier to synchronous mode: {@code rdma_migrate_id} to a channel of its own. */
  public void migrateToSynchronous() {
    reportOn(null);
  }

  private void reportOn(@Nullable EventChannel target) {
    EventChannel source = channel;
    if (target == source) {
      return;
    }
    nativeId.requireNobodyWaits();
    // If one of the channels is closed meanwhile, it closes the identifier before librdmacm
    // destroys the channel.
    core.moveTo(parents(home.given(), source, target));
    try {
      nativeId.migrate(struct(source), struct(target), () -> channel = target);
    } catch (VerbsException e) {
      stayOn(source, e);
      throw Explanation.add(e, "migrating " + this);
    } catch (RuntimeException e) {
      stayOn(source, e);
      throw e;
    }
    core.moveTo(parents(home.given(), target));
  }

  private static @Nullable NativeChannel struct(@Nullable EventChannel of) {
    return of == null ? null : of.channel();
  }

  private void stayOn(@Nullable EventChannel source, RuntimeException failure) {
    try {
      core.moveTo(parents(home.given(), source));
    } catch (IllegalStateException closed) {
      failure.addSuppressed(closed);
    }
  }

  /**
   * {@return the event channel of the identifier; empty in synchronous mode and for the identifier
   * of an {@link Endpoint}, which shares its channel with others}
   */
  public Optional<EventChannel> channel() {
    return Optional.ofNullable(channel).filter(events -> !events.isOfEndpoints());
  }

  // Queues

  /**
   * {@return the protection domain of the identifier's queue pair; without one the domain that the
   * identifier was created with, or else librdmacm's default domain of the device}
   *
   * @throws IllegalStateException if the identifier is not bound to a device
   */
  public ProtectionDomain domain() {
    nativeId.requireDevice();
    return queuePair().map(QueuePair::domain).orElseGet(home::get);
  }

  // Attributes

  /** {@return the port space that the identifier was created with} */
  public PortSpace portSpace() {
    return portSpace;
  }

  /**
   * {@return whether this is a datagram service, with a queue pair of type UD, instead of a
   * connection}
   */
  public boolean isDatagram() {
    return datagram;
  }

  /** {@return the options of the identifier} */
  public ConnectionOptions options() {
    return new ConnectionOptions(nativeId);
  }

  /** {@return the queues of the identifier} */
  public ConnectionQueues queues() {
    return queues;
  }

  /**
   * {@return the queue pair of the identifier that {@link #queues} created last, or empty if there
   * is none}
   */
  public Optional<QueuePair> queuePair() {
    return queues.queuePair();
  }

  /** {@return the operations to connect a queue pair that librdmacm did not create} */
  public ForeignQueuePair foreignQueuePair() {
    return new ForeignQueuePair(nativeId);
  }

  /** {@return the operations on multicast groups} */
  public Multicast multicast() {
    return multicast;
  }

  /**
   * {@return the context of the device that the identifier is bound to, shared by all identifiers
   * of the device}
   *
   * @throws IllegalStateException if the identifier is not bound to a device
   */
  public Context context() {
    return nativeId.context();
  }

  /**
   * {@return whether the identifier is bound to a device: after binding to the address of a device,
   * after address resolution, and in a connection request}
   */
  public boolean hasDevice() {
    return nativeId.hasDevice();
  }

  /**
   * {@return the number of the device port that the identifier is bound to, or 0 before binding to
   * a device}
   */
  public int portNumber() {
    return Byte.toUnsignedInt(nativeId.read(rdma_cm_id::port_num));
  }

  // Synchronous mode

  /**
   * Waits for a connection request inside librdmacm, in {@linkplain SynchronousMode synchronous
   * mode}: {@code rdma_get_request}.
   *
   * @return an identifier in synchronous mode, to be accepted or rejected, and closed; it has a
   *     queue pair if the listener was created with a capacity, in the protection domain of the
   *     listener
   * @throws IllegalStateException if this identifier has an event channel, or does not listen
   */
  public ConnectionId takeRequest() {
    if (nativeId.hasChannel()) {
      throw new IllegalStateException(this + " has an event channel: take the request from there");
    }
    if (!listening) {
      throw new IllegalStateException(this + " does not listen: call listen first");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
      nativeId.call(
          "waiting for a connection request",
          (rdmacm, id) -> rdmacm.rdma_get_request(id, pointer.address()));
      NativeId made =
          new NativeId(nativeId.rdmacm(), pointer.get(ValueLayout.JAVA_LONG, 0), null, true);
      ConnectionId request = synchronous(made, home.given(made.device()), requestCapacity);
      made.takeEvent(event -> request.keep(event, this));
      return request;
    }
  }

  /**
   * {@return the last event of an identifier in {@linkplain SynchronousMode synchronous mode}, with
   * the private data of the peer; empty if there is none or the identifier is not in synchronous
   * mode}
   */
  public Optional<ConnectionEvent> lastEvent() {
    return nativeId.hasChannel() ? Optional.empty() : Optional.ofNullable(lastEvent);
  }

  private void keep(MemorySegment event, @Nullable ConnectionId listener) {
    lastEvent = record(new ConnectionEvent(event, this, listener));
  }

  /** Records an event of this identifier that was read. */
  ConnectionEvent record(ConnectionEvent event) {
    switch (event.type()) {
      case ESTABLISHED -> nativeId.connected(!datagram);
      case DISCONNECTED, REJECTED, UNREACHABLE, CONNECT_ERROR, DEVICE_REMOVAL ->
          nativeId.connected(false);
      default -> {}
    }
    return event.recorded();
  }

  // Internals

  /** Calls librdmacm without the lock of the channel; closing waits for the end of the call. */
  void callWithoutChannel(NativeId.Call call) {
    core.whileOpen(() -> call.on(nativeId.rdmacm(), nativeId.address()));
  }

  /**
   * Returns the C struct, for classes of this package that create identifiers or wait for their
   * events.
   */
  NativeId nativeId() {
    return nativeId;
  }

  private VerbsException explained(
      VerbsException e, String doing, @Nullable InetSocketAddress address) {
    return Explanation.add(e, doing + " of " + this + AddressAdvice.on(e.errno(), address));
  }

  /** Stores the addresses for {@link #toString} after the struct is freed. */
  private void rename() {
    String peer = peerAddress().map(address -> " to " + address).orElse("");
    name = localAddress().map(Object::toString).orElse("unbound") + peer;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "connection identifier " + name);
  }
}
