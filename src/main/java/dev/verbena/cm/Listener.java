package dev.verbena.cm;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.internal.HalfOpenRequests.Establishing;
import dev.verbena.internal.Inside;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A listener for connection requests: an identifier ({@code struct rdma_cm_id}) that is bound to an
 * address and listens ({@code rdma_listen}).
 *
 * <p>{@link #open(InetSocketAddress)} creates it. {@link #take()} returns each request as an {@link
 * Endpoint}, to be accepted or rejected; {@code Connection.accept(Listener)} does all of it:
 *
 * {@snippet :
 * try (Listener listener = Listener.open(new InetSocketAddress("::", 7471));
 *     Endpoint peer = listener.take()) {
 *   peer.id().queues().createQueuePair(QueuePairCapacity.of(16));
 *   peer.accept(ConnectionParameters.DEFAULT, new byte[0], Duration.ofSeconds(5));
 * }
 * }
 *
 * <p><b>Threads.</b> Any number of threads may take requests; each request is returned to one of
 * them. Any thread may close the listener, which ends all waits with {@link IllegalStateException}.
 *
 * <p><b>Stopping.</b> To end a server without breaking the connections of its clients, call {@link
 * #stop()}, ask the clients to close their connections, wait for that by {@link #awaitConnections},
 * and close the listener.
 *
 * <p><b>Closing.</b> {@link #close()} destroys the identifier ({@code rdma_destroy_id}), rejects
 * requests that were not taken, closes those that {@code Connection.accept} has taken and not
 * returned as a connection, and closes the {@linkplain #domain() protection domain} if one was
 * created. Endpoints that were taken remain open; if the domain has regions, which are closed with
 * it, a warning is logged.
 *
 * <p>Manual pages: {@code rdma_bind_addr(3)}, {@code rdma_listen(3)}.
 */
public final class Listener implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.verbena");

  private final EventChannel channel;
  private final ConnectionId id;

  /**
   * Held until a request has left the channel of the listener: no other thread may read a later
   * event of the request before.
   */
  private final ScopedLock handingOver = new ScopedLock();

  /** The event that ended the listening, or null. */
  private volatile @Nullable ConnectionEvent removal;

  private final Acceptor<?> acceptor = new Acceptor<>(this);
  private final OpenConnections connections = new OpenConnections();

  /** Has the protection domain after the listener has stopped; guarded by this. */
  private @Nullable EventChannel keeper;

  /** The protection domain, if a program has asked for it; guarded by this. */
  private @Nullable ProtectionDomain domain;

  private final LeakReport leak;

  private Listener(EventChannel channel, ConnectionId id) {
    this.channel = channel;
    this.id = id;
    this.leak = new LeakReport(toString());
    leak.watch(this);
  }

  /**
   * Opens a listener for reliable connections ({@link PortSpace#TCP}).
   *
   * @param local an address of an RDMA device, or a wildcard address for all devices: {@code ::}
   *     accepts IPv6 and IPv4 (unless {@code net.ipv6.bindv6only} is set), {@code 0.0.0.0} and
   *     {@code new InetSocketAddress(port)} IPv4 only; for port 0 the kernel chooses a free port
   * @return the listener, to be closed by the caller
   * @throws IllegalArgumentException if the address is a loopback address, which RDMA devices do
   *     not have
   * @throws VerbsException EADDRINUSE, EADDRNOTAVAIL or ENODEV as from {@link ConnectionId#bind}
   */
  public static Listener open(InetSocketAddress local) {
    return open(PortSpace.TCP, local, 0);
  }

  /**
   * Opens a listener.
   *
   * @param portSpace the port space
   * @param local the address, as of {@link #open(InetSocketAddress)}
   * @param backlog the maximum number of pending requests; 0 for the kernel's default
   * @return the listener, to be closed by the caller
   */
  public static Listener open(PortSpace portSpace, InetSocketAddress local, int backlog) {
    return open(portSpace, local, backlog, options -> {});
  }

  /**
   * Opens a listener with options of its identifier.
   *
   * @param portSpace the port space
   * @param local the address, as of {@link #open(InetSocketAddress)}
   * @param backlog the maximum number of pending requests; 0 for the kernel's default
   * @param options sets the options of the identifier, such as {@link
   *     ConnectionOptions#reuseAddress} and {@link ConnectionOptions#addressFamilyOnly}, before it
   *     is bound
   * @return the listener, to be closed by the caller
   */
  public static Listener open(
      PortSpace portSpace,
      InetSocketAddress local,
      int backlog,
      Consumer<ConnectionOptions> options) {
    Objects.requireNonNull(local, "local");
    EventChannel channel = EventChannel.open(Providers.reaching(local).rdmacm());
    try {
      ConnectionId id = channel.createId(portSpace);
      options.accept(id.options());
      id.bind(local);
      id.listen(backlog);
      return new Listener(channel, id);
    } catch (Throwable t) {
      AfterFailure.close(t, channel::close);
      throw t;
    }
  }

  /**
   * Returns a pending request without waiting.
   *
   * @return the request, to be accepted or rejected, and closed; or null if none is pending
   * @throws IllegalStateException if the listener is closed
   */
  public @Nullable Endpoint poll() {
    try (var _ = handingOver.hold()) {
      ConnectionEvent event;
      do {
        requireDevice();
        event = channel.poll();
        if (event != null && event.type() == EventType.DEVICE_REMOVAL && event.id() == id) {
          removal = event;
        }
      } while (event != null && event.type() != EventType.CONNECT_REQUEST);
      requireDevice();
      if (event == null) {
        return null;
      }
      connections.opened();
      return Endpoint.requested(event, connections::closed);
    }
  }

  private void requireDevice() {
    ConnectionEvent removed = removal;
    if (removed != null) {
      throw new ConnectionException("waiting for connection requests on " + id, removed);
    }
  }

  /**
   * Waits for a request until the timeout expires, and returns it.
   *
   * @param timeout the maximum time to wait
   * @return the request, to be accepted or rejected, and closed; or null if the timeout expires
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed before or during the wait
   */
  public @Nullable Endpoint poll(Duration timeout) throws InterruptedException {
    return channel.awaitAny(this::poll, Deadline.after(timeout));
  }

  /**
   * Waits for a request, and returns it.
   *
   * @return the request, to be accepted or rejected, and closed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed before or during the wait
   * @throws ConnectionException each time once the device that the listener is bound to was
   *     removed: close the listener, and open another when the device is back
   */
  public Endpoint take() throws InterruptedException {
    return channel.awaitAny(this::poll, Deadline.NEVER);
  }

  /**
   * Takes a request, and adds it to those that wait; closes it if there is no room for it.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public void take(HalfOpenRequests<Endpoint> requests) throws InterruptedException {
    Endpoint request = take();
    boolean waits = false;
    try {
      waits = requests.add(request.id().peerAddress(), request);
    } finally {
      if (!waits) {
        request.close();
      }
    }
  }

  /**
   * {@return the local address of the listener, with the port that the kernel chose if it was 0}
   */
  public Optional<InetSocketAddress> address() {
    return id.localAddress();
  }

  /** {@return the local port of the listener} */
  public int port() {
    return id.localPort();
  }

  /**
   * Returns the protection domain that all accepted connections share: regions registered here are
   * accessible to each of them.
   *
   * @return the protection domain, on the device that the listener is bound to; closing the
   *     listener closes it with its regions
   * @throws IllegalStateException if the listener is bound to a wildcard address, and so to no
   *     single device; or if it has stopped and the domain was never asked for
   */
  public synchronized ProtectionDomain domain() {
    ProtectionDomain current = domain;
    if (current == null || !current.isOpen()) {
      current = id.domain();
      domain = current;
    }
    return current;
  }

  /**
   * Stops listening: rejects the pending requests, and ends {@link #take()} and {@code
   * Connection.accept} with {@link IllegalStateException}. Connections remain open, and so does the
   * {@linkplain #domain() protection domain} with its regions. New requests are rejected as without
   * a listener. May be repeated.
   */
  public synchronized void stop() {
    AfterFailure.closeAll(this::keepDomain, this::endListening);
  }

  /**
   * Stops listening if the domain remains open without it.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public synchronized void stopIfDomainRemains(Inside caller) {
    boolean remains = false;
    try {
      remains = keepDomain();
    } catch (RuntimeException e) { // The device was removed, or another verb fails.
      LOG.log(System.Logger.Level.DEBUG, "closing " + this, e);
    }
    if (remains) {
      endListening();
    }
  }

  /** Keeps the domain open after the end of the listening; returns whether it remains open. */
  private boolean keepDomain() {
    if (keeper == null && domain != null && domain.isOpen() && id.isOpen() && removal == null) {
      keep(domain);
    }
    return keeper != null;
  }

  private void endListening() {
    AfterFailure.closeAll(channel::close, acceptor::close);
  }

  /** Gives the domain to another identifier of the device, which is not destroyed with this one. */
  private void keep(ProtectionDomain kept) {
    EventChannel made = EventChannel.open(id.nativeId().rdmacm());
    try {
      ConnectionId holder = made.createId(PortSpace.TCP);
      holder.bind(new InetSocketAddress(id.localAddress().orElseThrow().getAddress(), 0));
      if (holder.context().equals(kept.context())) {
        Core.of(kept).moveTo(kept.context(), holder);
        keeper = made;
      } else { // Another device has the address, that of the domain was removed.
        made.close();
      }
    } catch (Throwable t) {
      AfterFailure.close(t, made::close);
      throw t;
    }
  }

  /**
   * Waits until the connections and the requests that were taken from this listener are closed. To
   * be called after {@link #stop}; before, more may come.
   *
   * @param timeout the maximum time to wait
   * @throws RdmaTimeoutException if the timeout expires; the message has the number of connections
   *     that are open
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitConnections(Duration timeout) throws InterruptedException {
    Deadline deadline = Deadline.after(timeout);
    if (!awaitConnections(deadline)) {
      throw deadline.missedBy(
          "waiting for the connections of %s, of which %d are open"
              .formatted(this, connections.count()));
    }
  }

  /**
   * Waits for the same; returns false if the deadline passes before.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public boolean awaitConnections(Deadline deadline) throws InterruptedException {
    return connections.awaitNone(deadline);
  }

  /**
   * Takes requests until a connection is established, and returns it. Closing the listener closes
   * those that were not returned.
   *
   * @param how makes a connection, of the same type in all calls
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing", "unchecked"})
  public <T> T accept(Establishing<Endpoint, T> how, Consumer<T> closing)
      throws InterruptedException {
    return ((Acceptor<T>) acceptor).accept(how, closing);
  }

  /**
   * Stops listening, rejects the pending requests, ends {@code Connection.accept}, and closes the
   * {@linkplain #domain() protection domain} with its regions.
   */
  @Override
  public synchronized void close() {
    int open = connections.count();
    if (open > 0 && domain != null && !Core.of(domain).children(MemoryRegion.class).isEmpty()) {
      LOG.log(
          System.Logger.Level.WARNING,
          "%s closes the memory regions of its protection domain, although %s of its connections are open: call stop() and awaitConnections() before"
              .formatted(this, open));
    }
    AfterFailure.closeAll(
        this::endListening,
        () -> {
          if (keeper != null) {
            keeper.close();
          }
        });
    leak.closed();
  }

  @Override
  public String toString() {
    return "listener on " + id;
  }
}
