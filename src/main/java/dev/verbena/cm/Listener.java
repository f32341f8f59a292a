package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.Providers;
import dev.verbena.verbs.ProtectionDomain;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A listener for connection requests: an identifier ({@code struct rdma_cm_id}) that is bound to an
 * address and listens ({@code rdma_listen}).
 *
 * <p>{@link #open(InetSocketAddress)} creates it. {@link #take()} returns each request as an {@link
 * Endpoint}, to be accepted or rejected; {@link Connection#accept(Listener)} does all of it:
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
 * <p><b>Closing.</b> {@link #close()} destroys the identifier ({@code rdma_destroy_id}), rejects
 * requests that were not taken, closes those that {@link Connection#accept(Listener)} has taken and
 * not returned as a connection, and closes the {@linkplain #domain() protection domain} if one was
 * created. Endpoints that were taken remain open.
 *
 * <p>Manual pages: {@code rdma_bind_addr(3)}, {@code rdma_listen(3)}.
 */
public final class Listener implements AutoCloseable {
  private final EventChannel channel;
  private final ConnectionId id;

  /**
   * Held until a request has left the channel of the listener: no other thread may read a later
   * event of the request before.
   */
  private final ReentrantLock handingOver = new ReentrantLock();

  private final Acceptor acceptor = new Acceptor(this);
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
   * @param local an address of an RDMA device, or a wildcard address for all devices: {@code ::}
   *     accepts IPv6 and IPv4 (unless {@code net.ipv6.bindv6only} is set), {@code 0.0.0.0} and
   *     {@code new InetSocketAddress(port)} IPv4 only; for port 0 the kernel chooses a free port
   * @param backlog the maximum number of pending requests; 0 for the kernel's default
   * @return the listener, to be closed by the caller
   * @throws IllegalArgumentException if the address is a loopback address, which RDMA devices do
   *     not have
   * @throws VerbsException EADDRINUSE, EADDRNOTAVAIL or ENODEV as from {@link ConnectionId#bind}
   */
  public static Listener open(PortSpace portSpace, InetSocketAddress local, int backlog) {
    AddressAdvice.requireReachable(Objects.requireNonNull(local, "local"));
    EventChannel channel = EventChannel.open(Providers.reaching(local).rdmacm());
    try {
      ConnectionId id = channel.createId(portSpace);
      id.bind(local);
      id.listen(backlog);
      return new Listener(channel, id);
    } catch (Throwable t) {
      channel.close();
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
    handingOver.lock();
    try {
      ConnectionEvent event;
      do {
        event = channel.poll();
        if (event != null && event.type() == EventType.DEVICE_REMOVAL) {
          throw new ConnectionException("waiting for connection requests on " + id, event);
        }
      } while (event != null && event.type() != EventType.CONNECT_REQUEST);
      return event == null ? null : Endpoint.requested(event);
    } finally {
      handingOver.unlock();
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
   */
  public Endpoint take() throws InterruptedException {
    return channel.awaitAny(this::poll, Deadline.NEVER);
  }

  /**
   * Returns the local address of the listener.
   *
   * @return the address, with the port that the kernel chose if it was 0
   */
  public Optional<InetSocketAddress> address() {
    return id.localAddress();
  }

  /**
   * Returns the local port of the listener.
   *
   * @return the port
   */
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
   *     single device
   */
  public ProtectionDomain domain() {
    return id.domain();
  }

  /** Returns what accepts the requests for {@link Connection#accept(Listener)}. */
  Acceptor acceptor() {
    return acceptor;
  }

  /**
   * Stops listening, rejects the pending requests, and ends {@link Connection#accept(Listener)}.
   */
  @Override
  public void close() {
    channel.close();
    acceptor.close();
    leak.closed();
  }

  @Override
  public String toString() {
    return "listener on " + id;
  }
}
