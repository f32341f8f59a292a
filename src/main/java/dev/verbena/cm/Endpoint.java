package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Providers;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection or a datagram service, with a blocking call for each step: an identifier
 * ({@code struct rdma_cm_id}) whose events the library reads.
 *
 * <p>The active side gets an endpoint from {@link #resolve}, the passive side from {@link
 * Listener#take()}, a member of multicast groups from {@link #bind}:
 *
 * {@snippet :
 * try (Endpoint client = Endpoint.resolve(PortSpace.TCP, null, server, timeout)) {
 *   QueuePair queuePair = client.id().queues().createQueuePair(QueuePairCapacity.of(16));
 *   client.connect(ConnectionParameters.DEFAULT, new byte[0], timeout);
 * }
 * }
 *
 * <p><b>States.</b> An endpoint of the active side is resolved and has a device; {@link #connect}
 * establishes the connection. An endpoint of the passive side holds a {@linkplain #request()
 * request}, which {@link #accept} accepts and {@link ConnectionId#reject()} rejects. A bound
 * endpoint has a device, and can join multicast groups ({@link #joinMulticast}). When the
 * connection ends or the device is removed, the endpoint disconnects ({@code rdma_disconnect}):
 * outstanding requests of the queue pair are flushed, and {@link #end()} returns the event.
 *
 * <p><b>Threads.</b> Any thread may call any method. Each wait ends by its timeout, an interrupt,
 * or the close of the endpoint, and does not occupy the carrier of a virtual thread.
 *
 * <p><b>Event channels.</b> Up to 32 endpoints share an {@link EventChannel}, which is one file
 * descriptor, and a virtual thread that reads its events. The first endpoint opens the channel, the
 * last one closes it. {@link ConnectionId#channel} does not return it, since a program must neither
 * read nor close it.
 *
 * <p><b>Closing.</b> {@link #close()} disconnects and destroys the identifier with its queue pair
 * ({@code rdma_destroy_id}).
 *
 * <p>Manual pages: {@code rdma_resolve_addr(3)}, {@code rdma_resolve_route(3)}, {@code
 * rdma_connect(3)}, {@code rdma_accept(3)}.
 */
public final class Endpoint implements AutoCloseable {
  private static final Set<EventType> ENDS =
      EnumSet.of(EventType.DISCONNECTED, EventType.DEVICE_REMOVAL);
  private static final Set<EventType> OF_GROUPS =
      EnumSet.of(EventType.MULTICAST_JOIN, EventType.MULTICAST_ERROR);

  /**
   * The timeout of one address resolution, which is then repeated. The kernel misses a neighbour's
   * reply that arrives immediately before it starts to wait, until the timeout expires.
   */
  private static final Duration ATTEMPT = Duration.ofMillis(250);

  private final EndpointChannel channel;
  private final ConnectionId id;
  private final @Nullable ConnectionEvent request;

  /** The events that are not of multicast groups; empty at the end. */
  private final BlockingQueue<Optional<ConnectionEvent>> events = new LinkedBlockingQueue<>();

  /** The context number of the last multicast join, which identifies its event. */
  private final AtomicLong joins = new AtomicLong();

  /** The events of the multicast joins in progress, by context number; empty at the end. */
  private final Map<Long, BlockingQueue<Optional<ConnectionEvent>>> joining =
      new ConcurrentHashMap<>();

  /** Whether requests are outstanding that may still complete when the peer has disconnected. */
  private volatile BooleanSupplier outstanding = () -> false;

  private volatile Duration completionTime = Duration.ZERO;
  private volatile @Nullable ConnectionEvent end;
  private final CountDownLatch over = new CountDownLatch(1);

  private Endpoint(EndpointChannel channel, ConnectionId id, @Nullable ConnectionEvent request) {
    this.channel = channel;
    this.id = id;
    this.request = request;
    channel.add(id, this::deliver);
  }

  /**
   * Creates an identifier, and binds it to a local address: {@code rdma_bind_addr}. For a datagram
   * service that joins multicast groups:
   *
   * {@snippet :
   * try (Endpoint member =
   *     Endpoint.bind(PortSpace.UDP, new InetSocketAddress("10.9.0.1", 0))) {
   *   QueuePair queuePair = member.id().queues().createQueuePair(QueuePairCapacity.of(16));
   *   DatagramParameters group = member.joinMulticast(address, JoinFlag.FULLMEMBER, timeout);
   * }
   * }
   *
   * @param portSpace the port space
   * @param local the address of a device; for port 0 the kernel chooses a free port
   * @return an endpoint, to be closed by the caller
   * @throws IllegalArgumentException if the address is a loopback address, which RDMA devices do
   *     not have
   * @throws VerbsException EADDRINUSE, EADDRNOTAVAIL or ENODEV as from {@link ConnectionId#bind}
   */
  public static Endpoint bind(PortSpace portSpace, InetSocketAddress local) {
    AddressAdvice.requireReachable(Objects.requireNonNull(local, "local"));
    Endpoint endpoint = create(Providers.reaching(local).rdmacm(), portSpace);
    try {
      endpoint.id.bind(local);
      return endpoint;
    } catch (Throwable t) {
      endpoint.close();
      throw t;
    }
  }

  private static Endpoint create(Librdmacm rdmacm, PortSpace portSpace) {
    return EndpointChannel.enter(
        rdmacm, channel -> new Endpoint(channel, channel.events().createId(portSpace), null));
  }

  /**
   * Creates an identifier, and resolves the address of a peer and the route to it.
   *
   * @param portSpace the port space
   * @param local the source address, or null to choose it by the routing table
   * @param peer the destination address
   * @param timeout the maximum time for the operation
   * @return an endpoint, ready to create a queue pair and to {@link #connect}, to be closed by the
   *     caller
   * @throws ConnectionException if the address or the route cannot be resolved
   * @throws VerbsException ETIMEDOUT if the timeout expires
   * @throws InterruptedException if the thread is interrupted
   */
  public static Endpoint resolve(
      PortSpace portSpace,
      @Nullable InetSocketAddress local,
      InetSocketAddress peer,
      Duration timeout)
      throws InterruptedException {
    return resolve(Providers.reaching(local, peer).rdmacm(), portSpace, local, peer, timeout);
  }

  static Endpoint resolve(
      Librdmacm rdmacm,
      PortSpace portSpace,
      @Nullable InetSocketAddress local,
      InetSocketAddress peer,
      Duration timeout)
      throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    Endpoint endpoint = create(rdmacm, portSpace);
    try {
      endpoint.resolveAddress(local, peer, deadline);
      endpoint.id.resolveRoute(endpoint.remaining("rdma_resolve_route", deadline));
      endpoint.await("rdma_resolve_route", EventType.ROUTE_RESOLVED, deadline);
      return endpoint;
    } catch (Throwable t) {
      endpoint.close();
      throw t;
    }
  }

  private void resolveAddress(
      @Nullable InetSocketAddress local, InetSocketAddress peer, Deadline deadline)
      throws InterruptedException {
    boolean resolved = false;
    while (!resolved) {
      Duration remaining = remaining("rdma_resolve_addr", deadline);
      id.resolveAddress(local, peer, remaining.compareTo(ATTEMPT) < 0 ? remaining : ATTEMPT);
      try {
        await("rdma_resolve_addr", EventType.ADDR_RESOLVED, deadline);
        resolved = true;
      } catch (ConnectionException e) {
        if (e.event().status() != -Errno.ETIMEDOUT) {
          throw e;
        }
      }
    }
  }

  /** Returns the remaining time for a step of the resolution, which is positive. */
  private Duration remaining(String function, Deadline deadline) {
    Duration remaining = deadline.remaining();
    if (remaining.isZero()) {
      throw timedOut(function);
    }
    return remaining;
  }

  private VerbsException timedOut(String function) {
    return new VerbsException(function, Errno.ETIMEDOUT, "timeout expired for " + id);
  }

  /**
   * Creates the endpoint of a connection request, which leaves the channel of the listener; rejects
   * the request if this fails.
   */
  static Endpoint requested(ConnectionEvent request) {
    ConnectionId id = request.id();
    try {
      Endpoint endpoint =
          EndpointChannel.enter(
              id.nativeId().rdmacm(), channel -> new Endpoint(channel, id, request));
      try {
        id.migrate(endpoint.channel.events());
        return endpoint;
      } catch (Throwable t) {
        endpoint.close();
        throw t;
      }
    } catch (Throwable t) {
      id.close();
      throw t;
    }
  }

  /** Receives an event from the thread that reads the channel; empty if no event follows. */
  private void deliver(Optional<ConnectionEvent> event) {
    event
        .filter(e -> ENDS.contains(e.type()))
        .ifPresent(
            e -> {
              end = e;
              over.countDown();
              end(e.type());
            });
    if (event.isEmpty()) {
      over.countDown();
      joining.values().forEach(join -> join.add(event));
      events.add(event);
    } else if (OF_GROUPS.contains(event.get().type())) {
      BlockingQueue<Optional<ConnectionEvent>> join = joining.get(event.get().argument());
      if (join != null) { // The join was not abandoned.
        join.add(event);
      }
    } else {
      events.add(event);
    }
  }

  /**
   * Disconnects, which flushes outstanding requests. If the peer has disconnected, what it received
   * before counts as completed: the device may process the acknowledgement after the event.
   */
  private void end(EventType type) {
    if (type == EventType.DISCONNECTED && outstanding.getAsBoolean()) {
      Thread.ofVirtual().name("end of " + id).start(this::endWhenCompleted);
    } else {
      id.endQuietly();
    }
  }

  private void endWhenCompleted() {
    Deadline deadline = Deadline.after(completionTime);
    try {
      while (outstanding.getAsBoolean() && !deadline.isOver() && id.isOpen()) {
        Thread.sleep(1);
      }
    } catch (InterruptedException e) {
      throw new AssertionError("the thread is not accessible to callers", e);
    } finally {
      id.endQuietly();
    }
  }

  /**
   * Lets outstanding requests complete, for a time, before the endpoint disconnects because its
   * peer did.
   *
   * @param hasOutstanding returns whether requests are outstanding
   * @param atMost the maximum time for them to complete
   */
  void disconnectAfter(BooleanSupplier hasOutstanding, Duration atMost) {
    completionTime = atMost;
    outstanding = hasOutstanding;
  }

  private ConnectionEvent await(String function, EventType wanted, Deadline deadline)
      throws InterruptedException {
    return await(function, wanted, events, deadline);
  }

  /** Waits for an event of a type. Skips events that are no result of the operation. */
  private ConnectionEvent await(
      String function,
      EventType wanted,
      BlockingQueue<Optional<ConnectionEvent>> from,
      Deadline deadline)
      throws InterruptedException {
    while (true) {
      Optional<ConnectionEvent> next = from.poll(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
      if (next == null) {
        throw timedOut(function);
      }
      if (next.isEmpty()) {
        from.add(next); // For other waiting threads.
        throw new IllegalStateException(this + " is closed");
      }
      ConnectionEvent event = next.get();
      if (event.isFailure() || event.type() == EventType.DISCONNECTED) {
        throw new ConnectionException(function + " of " + id, event);
      }
      if (event.type() == wanted) {
        return event;
      }
    }
  }

  /**
   * Requests a connection, and waits for the response of the peer: {@code rdma_connect}.
   *
   * @param parameters the requested parameters
   * @param privateData the private data, with the limits of {@link
   *     ConnectionId#connect(ConnectionParameters, byte[])}
   * @param timeout the maximum time for the operation
   * @return the event of the response, with the peer's private data
   * @throws ConnectionException if the peer rejects the request or cannot be reached
   * @throws VerbsException ETIMEDOUT if the timeout expires
   * @throws InterruptedException if the thread is interrupted
   */
  public ConnectionEvent connect(
      ConnectionParameters parameters, byte[] privateData, Duration timeout)
      throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    id.connect(parameters, privateData);
    boolean establishes = id.isDatagram() || id.nativeId().hasQueuePair();
    return await(
        "rdma_connect", establishes ? EventType.ESTABLISHED : EventType.CONNECT_RESPONSE, deadline);
  }

  /**
   * Accepts the connection request, and waits until the connection is established: {@code
   * rdma_accept}. Does not wait if the request is for a datagram service.
   *
   * @param parameters the accepted parameters
   * @param privateData the private data, with the limits of {@link
   *     ConnectionId#accept(ConnectionParameters, byte[])}
   * @param timeout the maximum time for the operation
   * @throws ConnectionException if the connection cannot be established
   * @throws VerbsException ETIMEDOUT if the timeout expires
   * @throws InterruptedException if the thread is interrupted
   */
  public void accept(ConnectionParameters parameters, byte[] privateData, Duration timeout)
      throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    id.accept(parameters, privateData);
    if (!id.isDatagram()) {
      await("rdma_accept", EventType.ESTABLISHED, deadline);
    }
  }

  /**
   * Joins a multicast group, and waits for the result: {@code rdma_join_multicast_ex}. If it fails,
   * the group is left. Several threads may join groups at the same time.
   *
   * <p>The endpoint must be {@linkplain #bind bound} to the address of a device, and its queue pair
   * must exist before: joining attaches it to the group. {@link Multicast#leave} leaves the group.
   *
   * @param group the group's address
   * @param flag the kind of membership
   * @param timeout the maximum time for the operation
   * @return the parameters to send to the group
   * @throws ConnectionException if the group cannot be joined
   * @throws VerbsException ETIMEDOUT if the timeout expires; EINVAL if the endpoint is not from
   *     {@link #bind}, or is not of a datagram service
   * @throws IllegalStateException if the endpoint is bound to a wildcard address, and so to no
   *     device
   * @throws InterruptedException if the thread is interrupted
   */
  public DatagramParameters joinMulticast(InetSocketAddress group, JoinFlag flag, Duration timeout)
      throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    long context = joins.incrementAndGet();
    BlockingQueue<Optional<ConnectionEvent>> result = new LinkedBlockingQueue<>();
    joining.put(context, result);
    try {
      id.multicast().join(group, flag, context);
      return awaitMembership(group, result, deadline);
    } finally {
      joining.remove(context);
    }
  }

  private DatagramParameters awaitMembership(
      InetSocketAddress group, BlockingQueue<Optional<ConnectionEvent>> result, Deadline deadline)
      throws InterruptedException {
    try {
      return await("rdma_join_multicast_ex", EventType.MULTICAST_JOIN, result, deadline)
          .datagram()
          .orElseThrow();
    } catch (Throwable t) {
      id.multicast().giveUp(group, t);
      throw t;
    }
  }

  /**
   * Disconnects, and waits until the peer has disconnected, too: {@code rdma_disconnect}.
   *
   * @param timeout the maximum time for the operation
   * @throws VerbsException ETIMEDOUT if the timeout expires; the connection has ended nevertheless
   * @throws InterruptedException if the thread is interrupted
   */
  public void disconnect(Duration timeout) throws InterruptedException {
    if (end != null) {
      return;
    }
    Deadline deadline = Deadline.after(timeout);
    id.disconnect();
    try {
      await("rdma_disconnect", EventType.DISCONNECTED, deadline);
    } catch (ConnectionException e) {
      if (e.event().type() != EventType.DISCONNECTED) {
        throw e;
      }
    }
  }

  /**
   * Returns the identifier, with its queue pair, addresses and options. Its events are read by this
   * endpoint.
   *
   * @return the identifier
   */
  public ConnectionId id() {
    return id;
  }

  /**
   * Returns the connection request of the peer.
   *
   * @return the {@link EventType#CONNECT_REQUEST}, or empty on the active side
   */
  public Optional<ConnectionEvent> request() {
    return Optional.ofNullable(request);
  }

  /**
   * Returns the event that ended the connection.
   *
   * @return the {@link EventType#DISCONNECTED} or {@link EventType#DEVICE_REMOVAL}, or empty if the
   *     connection has not ended
   */
  public Optional<ConnectionEvent> end() {
    return Optional.ofNullable(end);
  }

  /**
   * Returns the event that ended the connection, after waiting for it until the deadline or until
   * this endpoint is closed.
   */
  Optional<ConnectionEvent> awaitEnd(Deadline deadline) throws InterruptedException {
    boolean _ = over.await(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
    return end();
  }

  /** Disconnects, and closes the identifier with its queues. */
  @Override
  public void close() {
    id.close();
    channel.leave(id);
  }

  @Override
  public String toString() {
    return "endpoint of " + id;
  }
}
