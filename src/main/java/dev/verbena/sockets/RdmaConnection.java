package dev.verbena.sockets;

import dev.verbena.RdmaException;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventType;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Resolution;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketException;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A connection of RDMA CM with the stream over it: from the resolution of the address, or the
 * request of a peer, to the orderly end. Each step is driven by an event; no thread waits for it.
 */
final class RdmaConnection {
  /** How often a resolution is attempted: for 20 seconds. */
  private static final int ATTEMPTS = 80;

  /** As librdmacm's rsockets: flow control, and retry counts of 7. */
  private static final ConnectionParameters PARAMETERS =
      ConnectionParameters.DEFAULT
          .withResponderResources(0)
          .withInitiatorDepth(0)
          .withFlowControl()
          .withRetryCount(7)
          .withRnrRetryCount(7);

  /** How long a close waits for a peer that does not read, about as Linux does for TCP. */
  private static final long LONGEST_DELIVERY = TimeUnit.MINUTES.toNanos(3);

  private enum State {
    NEW,
    CONNECTING,
    ESTABLISHED,
    FAILED
  }

  private final CmEvents events;
  private final ConnectionId id;

  /** Told of each change that no completion event shows. */
  private volatile Consumer<RdmaConnection> changed;

  private final ScopedLock lock = new ScopedLock();
  private final Condition change = lock.newCondition();

  /** Completed when an orderly end need not wait for anything more. */
  private final CompletableFuture<@Nullable Void> acknowledged = new CompletableFuture<>();

  private final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();

  // Guarded by the lock.
  private State state = State.NEW;
  private boolean isClosing;
  private boolean isDisconnected;
  private int attempts;
  private Sizes sizes = Sizes.DEFAULT;
  private @Nullable InetSocketAddress remote;
  private @Nullable IOException failure;

  private volatile @Nullable RdmaStream stream;

  private RdmaConnection(Provider provider, Consumer<RdmaConnection> changed) {
    this.changed = changed;
    events = CmEvents.open(provider, this::receive);
    ConnectionId created = null;
    try {
      created = events.createId();
    } finally {
      if (created == null) {
        events.close();
      }
    }
    id = created;
  }

  private RdmaConnection(
      Provider provider, ConnectionId request, Sizes sizes, Consumer<RdmaConnection> changed) {
    this.changed = changed;
    this.sizes = sizes;
    this.id = request;
    this.state = State.CONNECTING;
    events = CmEvents.open(provider, this::receive);
    try {
      events.add(request);
    } catch (Throwable t) {
      AfterFailure.close(t, events::close);
      throw t;
    }
  }

  /** Creates a connection that is bound to a local address. */
  static RdmaConnection bound(InetSocketAddress local, Consumer<RdmaConnection> changed) {
    RdmaConnection connection = new RdmaConnection(Providers.reaching(local), changed);
    try {
      connection.id.bind(local);
      return connection;
    } catch (Throwable t) {
      AfterFailure.close(t, connection.events::close);
      throw t;
    }
  }

  /** Creates a connection that is not bound, by the devices that reach an address. */
  static RdmaConnection unbound(InetSocketAddress remote, Consumer<RdmaConnection> changed) {
    return new RdmaConnection(Providers.reaching(remote), changed);
  }

  /**
   * Accepts a request.
   *
   * @param changed is told when the connection is established, or has failed, until another is
   *     {@linkplain #onChange set}
   */
  static RdmaConnection accept(
      Provider provider, ConnectionEvent request, Sizes sizes, Consumer<RdmaConnection> changed)
      throws ProtocolException {
    ConnectionData peer = ConnectionData.read(request.privateData());
    RdmaConnection connection = new RdmaConnection(provider, request.id(), sizes, changed);
    try {
      RdmaStream made = connection.createStream();
      made.begin(peer);
      connection.id.accept(PARAMETERS, made.describe());
      return connection;
    } catch (Throwable t) {
      connection.release();
      throw t;
    }
  }

  private RdmaStream createStream() {
    RdmaStream made =
        new RdmaStream(id, sizes, this::failed, this::flushed, () -> changed.accept(this));
    stream = made;
    return made;
  }

  /** Sets what is told of each change from now on. */
  void onChange(Consumer<RdmaConnection> action) {
    changed = action;
  }

  /** Returns the stream of an established connection. */
  RdmaStream stream() {
    return Objects.requireNonNull(stream);
  }

  CmEvents events() {
    return events;
  }

  Optional<InetSocketAddress> localAddress() {
    return id.localAddress();
  }

  Optional<InetSocketAddress> peerAddress() {
    return id.peerAddress();
  }

  /** Begins to connect. */
  void connect(InetSocketAddress address, Sizes wanted) throws IOException {
    try (var _ = lock.hold()) {
      state = State.CONNECTING;
      remote = address;
      sizes = wanted;
      resolve();
    } catch (RdmaException e) {
      throw Failures.ofConnect(e, address);
    } catch (IllegalStateException e) { // The channel of the identifier was closed meanwhile.
      throw Failures.ofConnect(e, address);
    }
  }

  private void resolve() {
    // An identifier that is bound has its address.
    id.resolveAddress(null, Objects.requireNonNull(remote), Resolution.ATTEMPT);
  }

  /** Receives an event; none after {@link #release}. */
  private void receive(ConnectionEvent event) {
    boolean isChanged;
    lock.lock();
    try {
      isChanged = process(event);
    } catch (RdmaException e) {
      fail(Failures.ofConnect(e, remoteOrUnknown()));
      isChanged = true;
    } catch (IOException e) {
      fail(e);
      isChanged = true;
    } catch (RuntimeException | OutOfMemoryError e) { // Nobody else would tell the channel.
      SocketException failed = new SocketException("the connection failed: " + e.getMessage());
      failed.initCause(e);
      fail(failed);
      isChanged = true;
    } finally {
      change.signalAll();
      lock.unlock();
    }
    if (isChanged) {
      changed.accept(this);
    }
  }

  private InetSocketAddress remoteOrUnknown() {
    return remote == null ? Addresses.wildcard() : remote;
  }

  /** Processes an event; returns whether the channel must be told. */
  private boolean process(ConnectionEvent event) throws IOException {
    if (isClosing && state != State.ESTABLISHED) { // The orderly end also ends by an event.
      return false;
    }
    switch (event.type()) {
      case ADDR_RESOLVED -> {
        attempts = 0;
        id.resolveRoute(Resolution.ATTEMPT);
      }
      case ADDR_ERROR, ROUTE_ERROR -> repeat(event);
      case ROUTE_RESOLVED -> id.connect(PARAMETERS, createStream().describe());
      case ESTABLISHED -> establish(event);
      case REJECTED, UNREACHABLE, CONNECT_ERROR, DISCONNECTED, DEVICE_REMOVAL -> end(event);
      default -> {
        return false;
      }
    }
    return state != State.CONNECTING;
  }

  private void repeat(ConnectionEvent event) {
    if (!Resolution.mayRepeat(event.status()) || ++attempts == ATTEMPTS) {
      fail(Failures.ofConnect(event, remoteOrUnknown()));
    } else if (event.type() == EventType.ADDR_ERROR) {
      resolve();
    } else {
      id.resolveRoute(Resolution.ATTEMPT);
    }
  }

  private void establish(ConnectionEvent event) throws ProtocolException {
    if (remote != null) { // The active side.
      stream().begin(ConnectionData.read(event.privateData()));
    }
    state = State.ESTABLISHED;
  }

  /**
   * The connection was not established, or has ended: by REJECTED if the peer ended before it had
   * received the RTU.
   */
  private void end(ConnectionEvent event) {
    if (state != State.ESTABLISHED) {
      fail(Failures.ofConnect(event, remoteOrUnknown()));
      return;
    }
    stream().disconnected(event.type() == EventType.REJECTED);
    disconnect();
    if (event.type() == EventType.DEVICE_REMOVAL) {
      stream().notFlushed();
    }
    boolean _ = acknowledged.complete(null); // Nothing can be acknowledged any more.
  }

  private void fail(IOException e) {
    if (state != State.FAILED) {
      failure = e;
      state = State.FAILED;
    }
  }

  /** Returns whether the connection is established. */
  boolean isEstablished() {
    try (var _ = lock.hold()) {
      return state == State.ESTABLISHED;
    }
  }

  /**
   * Returns whether the connection is established.
   *
   * @throws IOException if it cannot be
   */
  boolean finish() throws IOException {
    try (var _ = lock.hold()) {
      if (failure != null) {
        throw failure;
      }
      return state == State.ESTABLISHED;
    }
  }

  /** Returns whether {@link #finish} would return true or throw. */
  boolean isFinished() {
    try (var _ = lock.hold()) {
      return state == State.ESTABLISHED || state == State.FAILED;
    }
  }

  /** Waits until the connection is finished or closed, the time is over, or for an interrupt. */
  void await(long nanos) {
    long left = nanos;
    try (var _ = lock.hold()) {
      while (state == State.CONNECTING && !isClosing && left > 0) {
        left = Time.await(change, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  // The end

  /** The stream has failed. */
  private void failed() {
    disconnect();
    boolean _ = acknowledged.complete(null);
  }

  /** Requests of the stream were flushed: an event that is pending may be the cause. */
  private void flushed() {
    try {
      events.receivePending();
    } finally {
      stream().endFlushed();
      changed.accept(this);
    }
  }

  /** Disconnects once; flushes the queue pair. */
  private void disconnect() {
    try (var _ = lock.hold()) {
      if (isDisconnected || state != State.ESTABLISHED) {
        return;
      }
      isDisconnected = true;
    }
    try {
      id.disconnect();
    } catch (RdmaException | IllegalStateException e) {
      // The connection has ended already, or the identifier is being closed.
      stream().notFlushed();
    }
  }

  /**
   * Closes the connection in order: all data that was sent is acknowledged by the device of the
   * peer before, unless that takes too long.
   *
   * @param nanos the longest time, unless data wait for the peer; 0 to abort the connection
   * @return completed when everything is released
   */
  CompletableFuture<@Nullable Void> close(long nanos) {
    boolean isOrderly;
    try (var _ = lock.hold()) {
      if (isClosing) {
        return released;
      }
      isClosing = true;
      isOrderly = state == State.ESTABLISHED && nanos > 0;
      change.signalAll();
    }
    ClosingConnections.closing(this);
    RdmaStream ending = stream;
    if (ending != null) {
      isOrderly = ending.beginClose(!isOrderly);
    }
    if (isOrderly) {
      CompletableFuture<Void> _ =
          acknowledged.thenRun(() -> Thread.ofVirtual().start(this::release));
      CompletableFuture<@Nullable Void> kept = acknowledged; // Not this connection for so long.
      Time.after(stream().isWaiting() ? LONGEST_DELIVERY : nanos, () -> kept.complete(null));
      try {
        stream().continueClose(() -> kept.complete(null));
      } catch (RuntimeException | Error e) {
        boolean _ = acknowledged.complete(null);
        throw e;
      }
    } else {
      Thread _ = Thread.ofVirtual().start(this::release);
    }
    return released;
  }

  /** Returns the future that is completed when everything is released. */
  CompletableFuture<@Nullable Void> released() {
    return released;
  }

  private void release() {
    boolean _ = ServiceLoop.attempt(this::closeQueues);
    boolean _ = ServiceLoop.attempt(events::close);
    ClosingConnections.released(this);
    boolean _ = released.complete(null);
  }

  private void closeQueues() {
    disconnect();
    RdmaStream ending = stream;
    if (ending != null) {
      ending.release(id);
    } else {
      id.close();
    }
  }

  @Override
  public String toString() {
    return "connection of " + id;
  }
}
