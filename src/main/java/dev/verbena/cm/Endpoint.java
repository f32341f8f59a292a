package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * An identifier whose steps wait for their outcome: each for a time, until interrupted, or until
 * the endpoint is closed, and without holding the carrier of a virtual thread.
 *
 * <p>When the connection ends, or the device is removed, the endpoint disconnects in turn, so that
 * requests which wait on the queue pair complete as flushed and nobody waits for ever.
 *
 * {@snippet :
 * try (Endpoint client = Endpoint.resolve(PortSpace.TCP, null, server, timeout)) {
 *   QueuePair queuePair = client.id().queues().createQueuePair(QueuePairCapacity.of(16));
 *   client.connect(ConnectionParameters.DEFAULT, new byte[0], timeout);
 * }
 * }
 */
public final class Endpoint implements AutoCloseable {
  private static final Set<EventType> ENDS =
      EnumSet.of(EventType.DISCONNECTED, EventType.DEVICE_REMOVAL);

  /**
   * How long the kernel waits for a neighbour's address before it is asked again. It waits for the
   * answer to arrive, and one that arrived just before it began to wait is not noticed until the
   * time is over.
   */
  private static final Duration ATTEMPT = Duration.ofMillis(250);

  private final EventChannel channel;
  private final ConnectionId id;
  private final @Nullable ConnectionEvent request;
  private final LinkedBlockingQueue<Optional<ConnectionEvent>> events = new LinkedBlockingQueue<>();

  /** Numbers the joins, so that each knows its answer. */
  private final AtomicLong joins = new AtomicLong();

  private volatile @Nullable ConnectionEvent end;

  private Endpoint(EventChannel channel, ConnectionId id, ConnectionEvent request) {
    this.channel = channel;
    this.id = id;
    this.request = request;
  }

  private static Endpoint start(Endpoint endpoint) {
    Thread.ofVirtual().name(endpoint.toString()).start(endpoint::watch);
    return endpoint;
  }

  /**
   * Finds the way to a peer: an identifier of its own, its address and its route.
   *
   * @param portSpace the kind of service
   * @param local the address to come from; null lets the routing table choose
   * @param peer the address to go to
   * @param timeout how long this may take
   * @return an endpoint that is ready for a queue pair and {@link #connect}, to be closed
   * @throws ConnectionException if there is no way
   * @throws VerbsException ETIMEDOUT if the time is over
   * @throws InterruptedException if the thread is interrupted
   */
  public static Endpoint resolve(
      PortSpace portSpace,
      @Nullable InetSocketAddress local,
      InetSocketAddress peer,
      Duration timeout)
      throws InterruptedException {
    return resolve(EventChannel.open(), portSpace, local, peer, timeout);
  }

  static Endpoint resolve(
      EventChannel channel,
      PortSpace portSpace,
      @Nullable InetSocketAddress local,
      InetSocketAddress peer,
      Duration timeout)
      throws InterruptedException {
    try {
      Deadline deadline = Deadline.after(timeout);
      Endpoint endpoint = start(new Endpoint(channel, channel.createId(portSpace), null));
      endpoint.resolveAddress(local, peer, deadline);
      endpoint.id.resolveRoute(endpoint.remaining("rdma_resolve_route", deadline));
      endpoint.await("rdma_resolve_route", EventType.ROUTE_RESOLVED, deadline);
      return endpoint;
    } catch (Throwable t) {
      channel.close();
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

  /** What is left of the time for a step of the resolution, which is more than nothing. */
  private Duration remaining(String function, Deadline deadline) {
    Duration remaining = deadline.remaining();
    if (remaining.isZero()) {
      throw timedOut(function);
    }
    return remaining;
  }

  private VerbsException timedOut(String function) {
    return new VerbsException(function, Errno.ETIMEDOUT, "no answer in time for " + id);
  }

  /** The endpoint of a peer's request, on a channel of its own; if none can be made, a refusal. */
  static Endpoint requested(ConnectionEvent request) {
    ConnectionId id = request.id();
    try {
      EventChannel channel = EventChannel.open(id.nativeId().rdmacm());
      try {
        id.migrate(channel);
        return start(new Endpoint(channel, id, request));
      } catch (Throwable t) {
        channel.close();
        throw t;
      }
    } catch (Throwable t) {
      id.close();
      throw t;
    }
  }

  private void watch() {
    try {
      while (true) {
        ConnectionEvent event = channel.take();
        if (ENDS.contains(event.type())) {
          end = event;
          id.endQuietly();
        }
        events.add(Optional.of(event));
      }
    } catch (InterruptedException e) {
      throw new AssertionError("nobody has this thread to interrupt it", e);
    } catch (IllegalStateException e) {
      if (channel.isOpen()) {
        throw e;
      }
    } finally {
      events.add(Optional.empty());
    }
  }

  private ConnectionEvent await(String function, EventType wanted, Deadline deadline)
      throws InterruptedException {
    return await(function, wanted, 0, deadline);
  }

  /**
   * The next event, which must be of a type; events that answer nothing are passed over, and so are
   * those of a join that was given up.
   */
  private ConnectionEvent await(String function, EventType wanted, long argument, Deadline deadline)
      throws InterruptedException {
    while (true) {
      Optional<ConnectionEvent> next = events.poll(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
      if (next == null) {
        throw timedOut(function);
      }
      if (next.isEmpty()) {
        events.add(next); // For whoever else waits.
        throw new IllegalStateException(this + " is closed");
      }
      ConnectionEvent event = next.get();
      if (event.argument() != argument) {
        continue;
      }
      if (event.isFailure() || event.type() == EventType.DISCONNECTED) {
        throw new ConnectionException(function + " of " + id, event);
      }
      if (event.type() == wanted) {
        return event;
      }
    }
  }

  /**
   * Asks the peer for the connection, and waits for its answer.
   *
   * @param parameters what is asked for
   * @param privateData bytes for the peer, as {@link ConnectionId#connect(ConnectionParameters,
   *     byte[])} takes them
   * @param timeout how long this may take
   * @return the answer, with the peer's private data
   * @throws ConnectionException if the peer refuses or cannot be reached
   * @throws VerbsException ETIMEDOUT if the time is over
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
   * Accepts the peer's request, and waits until the connection stands. A datagram service's answer
   * is not waited for.
   *
   * @param parameters what is agreed to
   * @param privateData bytes for the peer, as {@link ConnectionId#accept(ConnectionParameters,
   *     byte[])} takes them
   * @param timeout how long this may take
   * @throws ConnectionException if the connection does not come about
   * @throws VerbsException ETIMEDOUT if the time is over
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
   * Joins a multicast group, and waits until it is joined. If that fails, the group is left.
   *
   * @param group the group's address
   * @param flag what for
   * @param timeout how long this may take
   * @return how to send to the group
   * @throws ConnectionException if the group cannot be joined
   * @throws VerbsException ETIMEDOUT if the time is over
   * @throws InterruptedException if the thread is interrupted
   */
  public DatagramParameters joinMulticast(InetSocketAddress group, JoinFlag flag, Duration timeout)
      throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    long context = joins.incrementAndGet();
    id.multicast().join(group, flag, context);
    try {
      return await("rdma_join_multicast_ex", EventType.MULTICAST_JOIN, context, deadline)
          .datagram()
          .orElseThrow();
    } catch (Throwable t) {
      id.multicast().giveUp(group, t);
      throw t;
    }
  }

  /**
   * Ends the connection, and waits until the peer agrees.
   *
   * @param timeout how long this may take
   * @throws VerbsException ETIMEDOUT if the time is over; the connection has ended all the same
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
   * The identifier, for its queue pair, its addresses and its options. Its events are this
   * endpoint's to take.
   *
   * @return the identifier
   */
  public ConnectionId id() {
    return id;
  }

  /**
   * What the peer asked for.
   *
   * @return the request that made the endpoint, or empty on the active side
   */
  public Optional<ConnectionEvent> request() {
    return Optional.ofNullable(request);
  }

  /**
   * How the connection ended.
   *
   * @return the {@link EventType#DISCONNECTED} or {@link EventType#DEVICE_REMOVAL}, or empty as
   *     long as there was none
   */
  public Optional<ConnectionEvent> end() {
    return Optional.ofNullable(end);
  }

  /** Ends the connection, if there is one, and closes the identifier with its queues. */
  @Override
  public void close() {
    channel.close();
  }

  @Override
  public String toString() {
    return "endpoint of " + id;
  }
}
