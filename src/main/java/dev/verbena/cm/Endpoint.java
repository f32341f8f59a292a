package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.HalfOpenRequests.Establishing;
import dev.verbena.internal.Inside;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Resolution;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.time.Time;
import dev.verbena.values.QueuePairState;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
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
 * descriptor, and a platform thread that reads its events. The first endpoint opens the channel,
 * the last one closes it. {@link ConnectionId#channel} does not return it, since a program must
 * neither read nor close it.
 *
 * <p><b>Closing.</b> {@link #close()} disconnects and destroys the identifier with its queue pair
 * ({@code rdma_destroy_id}).
 *
 * <p>Manual pages: {@code rdma_resolve_addr(3)}, {@code rdma_resolve_route(3)}, {@code
 * rdma_connect(3)}, {@code rdma_accept(3)}.
 */
public final class Endpoint implements AutoCloseable {
  private final EndpointChannel channel;
  private final ConnectionId id;
  private final @Nullable ConnectionEvent request;
  private final EndpointEvents events;

  /** Set when the endpoint is complete. */
  private @Nullable LeakReport leak;

  /** The context number of the last multicast join, which identifies its event. */
  private final AtomicLong joins = new AtomicLong();

  /** Runs when the endpoint is closed for the first time. */
  private final AtomicReference<@Nullable Runnable> whenClosed;

  private Endpoint(
      EndpointChannel channel,
      ConnectionId id,
      @Nullable ConnectionEvent request,
      @Nullable Runnable whenClosed) {
    this.channel = channel;
    this.id = id;
    this.request = request;
    this.whenClosed = new AtomicReference<>(whenClosed);
    this.events = new EndpointEvents(id);
    channel.add(id, events);
  }

  /** Reports this endpoint from now on if it becomes unreachable without being closed. */
  private Endpoint watched() {
    leak = new LeakReport(toString());
    return leak.watch(this);
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
    Objects.requireNonNull(local, "local");
    Endpoint endpoint = create(Providers.reaching(local).rdmacm(), portSpace);
    try {
      endpoint.id.bind(local);
      return endpoint.watched();
    } catch (Throwable t) {
      AfterFailure.close(t, endpoint::close);
      throw t;
    }
  }

  private static Endpoint create(Librdmacm rdmacm, PortSpace portSpace) {
    return EndpointChannel.enter(
        rdmacm, channel -> new Endpoint(channel, channel.events().createId(portSpace), null, null));
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
   * @throws IllegalArgumentException if the source address is a loopback address, which RDMA
   *     devices do not have: the kernel would choose another one
   * @throws ConnectionException if the address or the route cannot be resolved
   * @throws RdmaTimeoutException if the timeout expires
   * @throws InterruptedException if the thread is interrupted
   */
  public static Endpoint resolve(
      PortSpace portSpace,
      @Nullable InetSocketAddress local,
      InetSocketAddress peer,
      Duration timeout)
      throws InterruptedException {
    return resolve(portSpace, local, peer, timeout, options -> {});
  }

  /**
   * Creates an identifier, sets its options, and resolves the address of a peer and the route to
   * it.
   *
   * @param portSpace the port space
   * @param local the source address, or null to choose it by the routing table
   * @param peer the destination address
   * @param timeout the maximum time for the operation
   * @param options sets the options of the identifier, such as {@link
   *     ConnectionOptions#typeOfService}, before its address is resolved
   * @return an endpoint, ready to create a queue pair and to {@link #connect}, to be closed by the
   *     caller
   * @throws InterruptedException if the thread is interrupted
   * @see #resolve(PortSpace, InetSocketAddress, InetSocketAddress, Duration)
   */
  public static Endpoint resolve(
      PortSpace portSpace,
      @Nullable InetSocketAddress local,
      InetSocketAddress peer,
      Duration timeout,
      Consumer<ConnectionOptions> options)
      throws InterruptedException {
    if (local != null) {
      AddressAdvice.requireReachable("connect from", local, "no local address");
    }
    return resolve(
        Providers.reaching(local, peer).rdmacm(), portSpace, local, peer, timeout, options);
  }

  static Endpoint resolve(
      Librdmacm rdmacm,
      PortSpace portSpace,
      @Nullable InetSocketAddress local,
      InetSocketAddress peer,
      Duration timeout,
      Consumer<ConnectionOptions> options)
      throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    Endpoint endpoint = create(rdmacm, portSpace);
    try {
      options.accept(endpoint.id.options());
      endpoint.resolveAddress(local, peer, deadline);
      endpoint.id.resolveRoute(endpoint.remaining("rdma_resolve_route", deadline));
      endpoint.await("rdma_resolve_route", EventType.ROUTE_RESOLVED, deadline);
      return endpoint.watched();
    } catch (Throwable t) {
      AfterFailure.close(t, endpoint::close);
      throw t;
    }
  }

  private void resolveAddress(
      @Nullable InetSocketAddress local, InetSocketAddress peer, Deadline deadline)
      throws InterruptedException {
    boolean resolved = false;
    while (!resolved) {
      Duration remaining = remaining("rdma_resolve_addr", deadline);
      id.resolveAddress(local, peer, Resolution.attempt(remaining));
      try {
        await("rdma_resolve_addr", EventType.ADDR_RESOLVED, deadline);
        resolved = true;
      } catch (ConnectionException e) {
        if (!Resolution.mayRepeat(e.event().status())) {
          throw e;
        }
      }
    }
  }

  /** Returns the remaining time for a step of the resolution, which is positive. */
  private Duration remaining(String function, Deadline deadline) {
    Duration remaining = deadline.remaining();
    if (remaining.isZero()) {
      throw deadline.missedBy(function + " of " + id);
    }
    return remaining;
  }

  /**
   * Creates the endpoint of a connection request, which leaves the channel of the listener; rejects
   * the request if this fails.
   *
   * @param whenClosed runs when the endpoint is closed, also if this fails
   */
  static Endpoint requested(ConnectionEvent request, Runnable whenClosed) {
    ConnectionId id = request.id();
    Endpoint endpoint;
    try {
      endpoint =
          EndpointChannel.enter(
              id.nativeId().rdmacm(), channel -> new Endpoint(channel, id, request, whenClosed));
    } catch (Throwable t) {
      AfterFailure.close(t, id::close);
      whenClosed.run();
      throw t;
    }
    try {
      id.migrate(endpoint.channel.events());
      return endpoint.watched();
    } catch (Throwable t) {
      AfterFailure.close(t, endpoint::close);
      throw t;
    }
  }

  /**
   * Sets what happens when the hardware address of the network interface changes. The default is
   * {@link AddressChange#IGNORE}.
   *
   * @param reaction the reaction
   */
  public void onAddressChange(AddressChange reaction) {
    events.addressChange = Objects.requireNonNull(reaction, "reaction");
  }

  /**
   * Lets outstanding requests complete, for a time, before the endpoint disconnects because its
   * peer did.
   *
   * @param hasOutstanding returns whether requests are outstanding
   * @param atMost the maximum time for them to complete
   * @throws IllegalArgumentException if the time is negative
   */
  public void disconnectAfter(BooleanSupplier hasOutstanding, Duration atMost) {
    Objects.requireNonNull(hasOutstanding, "hasOutstanding");
    Deadline _ = Deadline.after(atMost); // Throws if it is negative.
    events.completionTime = atMost;
    events.outstanding = hasOutstanding;
  }

  private ConnectionEvent await(String function, EventType wanted, Deadline deadline)
      throws InterruptedException {
    return await(function, wanted, events.received, deadline);
  }

  /** Waits for an event of a type. Skips events that are no result of the operation. */
  private ConnectionEvent await(
      String function,
      EventType wanted,
      BlockingQueue<Optional<ConnectionEvent>> from,
      Deadline deadline)
      throws InterruptedException {
    while (true) {
      Optional<ConnectionEvent> next = Time.poll(from, deadline.remainingNanos());
      if (next == null) {
        throw deadline.missedBy(function + " of " + id);
      }
      if (next.isEmpty()) {
        from.add(next); // For other waiting threads.
        throw new IllegalStateException("the endpoint of " + Core.of(id) + " is closed");
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
   * @throws RdmaTimeoutException if the timeout expires
   * @throws InterruptedException if the thread is interrupted
   */
  public ConnectionEvent connect(
      ConnectionParameters parameters, byte[] privateData, Duration timeout)
      throws InterruptedException {
    return connect(parameters, privateData, Deadline.after(timeout));
  }

  /**
   * Requests a connection, with a deadline for it and what preceded it.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public ConnectionEvent connect(
      ConnectionParameters parameters, byte[] privateData, Deadline deadline)
      throws InterruptedException {
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
   * @throws RdmaTimeoutException if the timeout expires
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
   * Sets up a connection, which closes this endpoint from now on, and is reported if it is not
   * closed; closes this endpoint if that fails.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public <T> T establish(Establishing<Endpoint, T> how) throws InterruptedException {
    try {
      T made = how.establish(this);
      owned();
      return made;
    } catch (VerbsException e) {
      RuntimeException cause = causeOf(e);
      AfterFailure.close(cause, this::close);
      throw cause;
    } catch (Throwable t) {
      AfterFailure.close(t, this::close);
      throw t;
    }
  }

  private void owned() {
    if (leak != null) {
      leak.closed();
    }
  }

  /**
   * Returns why setting up the connection failed. Once the peer has given up its request, calls
   * fail with EINVAL, and the kernel drops the event of an identifier that was not accepted.
   */
  private RuntimeException causeOf(VerbsException failure) {
    if (request == null || failure.errno() != Errno.EINVAL) {
      return failure;
    }
    try {
      var _ = id.foreignQueuePair().attributesFor(QueuePairState.INIT);
      return failure;
    } catch (VerbsException e) {
      ConnectionException end =
          new ConnectionException("accepting " + id, ConnectionEvent.givenUp(id));
      end.addSuppressed(failure);
      return end;
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
   * @throws RdmaTimeoutException if the timeout expires
   * @throws VerbsException EINVAL if the endpoint is not from {@link #bind}, or is not of a
   *     datagram service
   * @throws IllegalStateException if the endpoint is bound to a wildcard address, and so to no
   *     device
   * @throws InterruptedException if the thread is interrupted
   */
  public DatagramParameters joinMulticast(InetSocketAddress group, JoinFlag flag, Duration timeout)
      throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    long context = joins.incrementAndGet();
    BlockingQueue<Optional<ConnectionEvent>> result = events.ofJoin(context);
    try {
      id.multicast().join(group, flag, context);
      return awaitMembership(group, result, deadline);
    } finally {
      events.endJoin(context);
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
   * @throws RdmaTimeoutException if the timeout expires; the connection has ended nevertheless
   * @throws InterruptedException if the thread is interrupted
   */
  public void disconnect(Duration timeout) throws InterruptedException {
    if (end().isPresent()) {
      return;
    }
    Deadline deadline = Deadline.after(timeout);
    id.disconnect();
    try {
      await("rdma_disconnect", EventType.DISCONNECTED, deadline);
    } catch (ConnectionException e) {
      if (end().isEmpty()) {
        throw e;
      }
    }
  }

  /**
   * {@return the identifier, with its queue pair, addresses and options; its events are read by
   * this endpoint}
   */
  public ConnectionId id() {
    return id;
  }

  /** {@return the {@link EventType#CONNECT_REQUEST} of the peer, or empty on the active side} */
  public Optional<ConnectionEvent> request() {
    return Optional.ofNullable(request);
  }

  /**
   * {@return the event that ended the connection: {@link EventType#DISCONNECTED} or {@link
   * EventType#DEVICE_REMOVAL}; {@link EventType#REJECTED} if the peer ended before it received the
   * last message of the handshake (RTU); also {@link EventType#ADDR_CHANGE} with {@link
   * AddressChange#END}; empty if the connection has not ended}
   */
  public Optional<ConnectionEvent> end() {
    return Optional.ofNullable(events.end);
  }

  /**
   * Returns the event that ended the connection, after waiting for it until the deadline or until
   * this endpoint is closed.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public Optional<ConnectionEvent> awaitEnd(Deadline deadline) throws InterruptedException {
    boolean _ = Time.await(events.over, deadline.remainingNanos());
    return end();
  }

  /**
   * Runs an action when the connection has ended, or this endpoint is closed, in the thread that
   * reads the events of many endpoints; at once if it has ended.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public void whenEnded(Runnable action, Inside caller) {
    events.whenOver(action);
  }

  /** Disconnects, and closes the identifier with its queues. */
  @Override
  public void close() {
    id.close();
    channel.leave(id);
    owned();
    endWait(Inside.LIBRARY);
  }

  /**
   * Ends the wait of the listener for the close of this endpoint.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public void endWait(Inside caller) {
    Runnable action = whenClosed.getAndSet(null);
    if (action != null) {
      action.run();
    }
  }

  @Override
  public String toString() {
    return "endpoint of " + id;
  }
}
