package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.verbs.ProtectionDomain;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Waits for peers. Any number of threads may; each request goes to one.
 *
 * {@snippet :
 * try (Listener listener = Listener.open(new InetSocketAddress("::", 7471));
 *     Endpoint peer = listener.take()) {
 *   peer.id().queues().createQueuePair(QueuePairCapacity.of(16));
 *   peer.accept(ConnectionParameters.DEFAULT, new byte[0], Duration.ofSeconds(5));
 * }
 * }
 */
public final class Listener implements AutoCloseable {
  private final EventChannel channel;
  private final ConnectionId id;

  /** Nobody may read another event of a request before the request reports elsewhere. */
  private final ReentrantLock handingOver = new ReentrantLock();

  private Listener(EventChannel channel, ConnectionId id) {
    this.channel = channel;
    this.id = id;
  }

  /**
   * Listens for connections.
   *
   * @param local an address of an RDMA device, or a wildcard address for all devices: {@code ::}
   *     serves IPv6 and IPv4 (unless {@code net.ipv6.bindv6only} is set), {@code 0.0.0.0} IPv4
   *     alone, and so does {@code new InetSocketAddress(port)}; port 0 lets the kernel choose
   * @return a listener, to be closed
   * @throws IllegalArgumentException if the address is a loopback address, which no RDMA device
   *     serves
   * @throws VerbsException EADDRINUSE, EADDRNOTAVAIL or ENODEV as from {@link ConnectionId#bind}
   */
  public static Listener open(InetSocketAddress local) {
    return open(PortSpace.TCP, local, 0);
  }

  /**
   * Listens.
   *
   * @param portSpace the kind of service
   * @param local an address of an RDMA device, or a wildcard address for all devices: {@code ::}
   *     serves IPv6 and IPv4 (unless {@code net.ipv6.bindv6only} is set), {@code 0.0.0.0} IPv4
   *     alone, and so does {@code new InetSocketAddress(port)}; port 0 lets the kernel choose
   * @param backlog how many requests may wait; 0 leaves it to the kernel
   * @return a listener, to be closed
   * @throws IllegalArgumentException if the address is a loopback address, which no RDMA device
   *     serves
   * @throws VerbsException EADDRINUSE, EADDRNOTAVAIL or ENODEV as from {@link ConnectionId#bind}
   */
  public static Listener open(PortSpace portSpace, InetSocketAddress local, int backlog) {
    AddressAdvice.requireReachable(Objects.requireNonNull(local, "local"));
    EventChannel channel = EventChannel.open();
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
   * Takes a request that is already there.
   *
   * @return the request, to be accepted or rejected, and closed; or null if there is none
   * @throws IllegalStateException if the listener is closed
   */
  public @Nullable Endpoint poll() {
    handingOver.lock();
    try {
      ConnectionEvent event;
      do {
        event = channel.poll();
        if (event != null && event.type() == EventType.DEVICE_REMOVAL) {
          throw new ConnectionException("waiting for peers on " + id, event);
        }
      } while (event != null && event.type() != EventType.CONNECT_REQUEST);
      return event == null ? null : Endpoint.requested(event);
    } finally {
      handingOver.unlock();
    }
  }

  /**
   * Waits a while for a request.
   *
   * @param timeout how long to wait at most
   * @return the request, to be accepted or rejected, and closed; or null if none came in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed, be it during the wait
   */
  public @Nullable Endpoint poll(Duration timeout) throws InterruptedException {
    return channel.awaitAny(this::poll, Deadline.after(timeout));
  }

  /**
   * Waits for a request.
   *
   * @return the request, to be accepted or rejected, and closed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the listener is closed, be it during the wait
   */
  public Endpoint take() throws InterruptedException {
    return channel.awaitAny(this::poll, Deadline.NEVER);
  }

  /**
   * Where peers find the listener.
   *
   * @return the address it is bound to, with the port that the kernel may have chosen
   */
  public Optional<InetSocketAddress> address() {
    return id.localAddress();
  }

  /**
   * The port that peers connect to.
   *
   * @return the port
   */
  public int port() {
    return id.localPort();
  }

  /**
   * The protection domain that all clients of the listener share: memory that is registered here,
   * before the first client arrives, is within reach of each of them.
   *
   * @return the domain of the device that the listener is bound to; closing the listener closes it
   *     with its regions
   * @throws IllegalStateException if the listener is bound to a wildcard address: clients may then
   *     come over any device
   */
  public ProtectionDomain domain() {
    return id.domain();
  }

  /** Stops listening and refuses the requests that nobody took. */
  @Override
  public void close() {
    channel.close();
  }

  @Override
  public String toString() {
    return "listener on " + id;
  }
}
