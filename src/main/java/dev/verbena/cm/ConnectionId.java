package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Arguments;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Memory;
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
import java.util.function.Consumer;
import java.util.function.LongConsumer;
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
 * {@link #synchronous}, and {@link #foreignQueuePair} for a queue pair that it has not.
 *
 * <p>An identifier in {@linkplain SynchronousMode synchronous mode} has no such channel.
 */
public final class ConnectionId extends Resource {
  /** The longest timeout of librdmacm. */
  private static final Duration LONGEST = Duration.ofMillis(Integer.MAX_VALUE);

  private final Librdmacm rdmacm;
  private final NativeId handle;
  private final MemorySegment struct;
  private final PortSpace portSpace;
  private final boolean datagram;
  private volatile String name = "unbound";
  private volatile boolean listening;
  private final HomeDomain home;
  private final ConnectionQueues queues;
  private final Multicast multicast = new Multicast(this);
  private final SynchronousMode synchronous;

  private ConnectionId(NativeId handle, ProtectionDomain domain, QueuePairCapacity capacity) {
    super(handle.address(), handle::destroy);
    this.rdmacm = handle.rdmacm();
    this.handle = handle;
    this.struct = Memory.at(handle.address(), rdma_cm_id.sizeof());
    this.portSpace = PortSpace.of(rdma_cm_id.ps(struct));
    this.datagram = rdma_cm_id.qp_type(struct) == rdma_h.IBV_QPT_UD();
    this.home = new HomeDomain(this, domain);
    this.queues = new ConnectionQueues(this, home);
    this.synchronous = new SynchronousMode(this, home, struct, capacity);
  }

  /** Takes charge of what C made, or gives it back if what it was made on is closed already. */
  private static ConnectionId of(
      NativeId handle, ProtectionDomain domain, QueuePairCapacity capacity) {
    try {
      return make(
          List.of(parents(domain, handle.channel())),
          () -> new ConnectionId(handle, domain, capacity));
    } catch (IllegalStateException e) {
      handle.destroy();
      throw e;
    }
  }

  /** What must be closed after an identifier, of what there is of these. */
  private static Resource[] parents(ProtectionDomain domain, EventChannel... channels) {
    return Stream.concat(Stream.of(channels), Stream.ofNullable(domain))
        .filter(Objects::nonNull)
        .toArray(Resource[]::new);
  }

  static ConnectionId create(EventChannel channel, PortSpace portSpace) {
    ConnectionId id =
        make(
            List.of(channel),
            () -> {
              long address = newId(channel.rdmacm(), channel.segment().address(), portSpace);
              return new ConnectionId(
                  new NativeId(channel.rdmacm(), address, channel, false), null, null);
            });
    channel.add(id.handle.address(), id);
    return id;
  }

  /** An identifier that C made for a peer's request. */
  static ConnectionId requested(EventChannel channel, MemorySegment segment) {
    ConnectionId id =
        of(new NativeId(channel.rdmacm(), segment.address(), channel, false), null, null);
    channel.add(segment.address(), id);
    id.rename();
    return id;
  }

  /** An identifier in synchronous mode that C made, with the queue pair that it may have made. */
  static ConnectionId synchronous(
      NativeId handle, ProtectionDomain domain, QueuePairCapacity capacity) {
    ConnectionId id = of(handle, domain, capacity);
    try {
      id.queues.adopt(capacity);
      id.rename();
    } catch (Throwable t) {
      id.close();
      throw t;
    }
    return id;
  }

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
      run(() -> rdmacm.rdma_bind_addr(address(), address.address()));
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
      run(
          () ->
              rdmacm.rdma_resolve_addr(address(), source.address(), destination.address(), millis));
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
    requireDevice();
    int millis = millis(timeout);
    try {
      run(() -> rdmacm.rdma_resolve_route(address(), millis));
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
    return SocketAddresses.read(RdmaCma.rdma_get_local_addr(address()));
  }

  /**
   * The peer's address: {@code rdma_get_peer_addr}.
   *
   * @return the address, or empty before resolution, on a listener, and for an address that is not
   *     of IP
   */
  public Optional<InetSocketAddress> peerAddress() {
    // C has zeros for none, in the family of the own address.
    return SocketAddresses.read(RdmaCma.rdma_get_peer_addr(address()))
        .filter(peer -> peer.getPort() != 0 || !peer.getAddress().isAnyLocalAddress());
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
    Arguments.range("backlog", backlog, 0, Integer.MAX_VALUE);
    call("listening", () -> rdmacm.rdma_listen(address(), backlog));
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
    requireDevice();
    try (Arena arena = Arena.ofConfined()) {
      long param = parameters.write(privateData, arena).address();
      run(() -> rdmacm.rdma_connect(address(), param));
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
    requireDevice();
    if (!hasQueuePair() && parameters.queuePairNumber() == 0) {
      throw new IllegalStateException(
          this + " has no queue pair: create one, or name another one's number");
    }
    try (Arena arena = Arena.ofConfined()) {
      long param = parameters.write(privateData, arena).address();
      run(() -> rdmacm.rdma_accept(address(), param));
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
    refuse(privateData, data -> rdmacm.rdma_reject(address(), data, (byte) privateData.length));
  }

  /**
   * Refuses the request because of its enhanced connection establishment: {@code rdma_reject_ece}.
   * The peer gets {@link EventType#REJECTED} with {@link RejectReason#VENDOR_OPTION_NOT_SUPPORTED}.
   *
   * @param privateData bytes for the peer: 148 at most
   */
  public void rejectEnhanced(byte[] privateData) {
    refuse(privateData, data -> rdmacm.rdma_reject_ece(address(), data, (byte) privateData.length));
  }

  private void refuse(byte[] privateData, LongConsumer reject) {
    try (Arena arena = Arena.ofConfined()) {
      long data = PrivateData.write(privateData, arena).address();
      run(() -> reject.accept(data));
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
    call("notifying", () -> rdmacm.rdma_notify(address(), event));
  }

  /**
   * Ends the connection and flushes its work: {@code rdma_disconnect}. The peer gets {@link
   * EventType#DISCONNECTED}, and so does this end when the peer disconnects in turn, or has not
   * done so for long. {@link EventType#TIMEWAIT_EXIT} follows later.
   */
  public void disconnect() {
    call("disconnecting", () -> rdmacm.rdma_disconnect(address()));
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
    call(
        "writing an event",
        () -> rdmacm.rdma_write_cm_event(address(), EventType.USER.code(), status, argument));
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
    reportOn(Objects.requireNonNull(target, "target"));
  }

  /** Waits in C from now on: {@code rdma_migrate_id} to a channel of the identifier's own. */
  public void migrateToSynchronous() {
    reportOn(null);
  }

  private void reportOn(EventChannel target) {
    EventChannel source = handle.channel();
    if (target == source) {
      return;
    }
    synchronous.requireNobodyWaits();
    // Whichever channel is closed meanwhile closes the identifier, before C lets go of the channel.
    moveTo(parents(home.given(), source, target));
    try {
      call("migrating", () -> handle.migrate(this, target));
    } catch (RuntimeException e) {
      stayOn(source, e);
      throw e;
    }
    moveTo(parents(home.given(), target));
  }

  private void stayOn(EventChannel source, RuntimeException failure) {
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
    return Optional.ofNullable(handle.channel());
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
    requireDevice();
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
    return new ConnectionOptions(this);
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
    return new ForeignQueuePair(this);
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
   * What an identifier without a channel can do.
   *
   * @return what waits in C
   */
  public SynchronousMode synchronous() {
    return synchronous;
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

  // Plumbing, for this identifier's parts

  Librdmacm rdmacm() {
    return rdmacm;
  }

  /** The C struct's address, of an identifier that is open. */
  long pointer() {
    return address();
  }

  /** The C struct, of an identifier that is open. */
  MemorySegment struct() {
    requireOpen();
    return struct;
  }

  /** The groups to leave before the queue pair is given back. */
  JoinedGroups groups() {
    return handle.groups();
  }

  /** Gives something of the C struct back, while the identifier may already be closing. */
  void callClosing(Consumer<MemorySegment> release) {
    synchronous.whileNobodyWaits(() -> handle.whileNobodyReads(() -> release.accept(struct)));
  }

  @Override
  protected void beforeClose() {
    synchronous.requireNobodyWaits();
  }

  boolean isListening() {
    return listening;
  }

  boolean hasQueuePair() {
    requireOpen();
    return rdma_cm_id.qp(struct).address() != 0;
  }

  void requireNoQueuePair(String why) {
    if (hasQueuePair()) {
      throw new IllegalStateException(this + " has a queue pair: " + why);
    }
  }

  void requireDevice() {
    if (!hasDevice()) {
      throw new IllegalStateException(
          this + " has no device yet: bind it to a device's address, or resolve an address");
    }
  }

  /** Calls C while nobody takes the identifier away, and says more about a failure. */
  void call(String doing, Runnable call) {
    try {
      run(call);
    } catch (VerbsException e) {
      throw e.explained(doing + " of " + this);
    }
  }

  private VerbsException explained(VerbsException e, String doing, InetSocketAddress address) {
    return e.explained(doing + " of " + this + AddressAdvice.on(e.errno(), address));
  }

  private void run(Runnable call) {
    if (handle.channel() == null) {
      synchronous.run(call);
    } else {
      handle.whileNobodyReads(call);
    }
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
