package dev.verbena.soft;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.verbs.Context;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Two hosts with one software RDMA device each, on a network of their own, for tests. Closing the
 * hosts closes everything that they created and reports what the test left open.
 *
 * {@snippet :
 * try (SoftHosts hosts = SoftHosts.create()) {
 *   hosts.client().send("hello".getBytes(UTF_8));
 *   assertArrayEquals("hello".getBytes(UTF_8), hosts.server().receive());
 * }
 * }
 *
 * <p>Objects of this class are independent of each other: tests may run in parallel. An object may
 * be used by several threads.
 */
public final class SoftHosts implements AutoCloseable {
  private static final String STRICT = "dev.verbena.soft.strict";
  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
  private static final InetSocketAddress SERVER =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.2"), 7471);

  /** How often the hosts begin to connect: messages may be lost so often that the ends disagree. */
  private static final int ATTEMPTS = 4;

  /** In which they connect. */
  private static final Duration TIMEOUT = ConnectionSettings.DEFAULT.timeout();

  private final SoftNetwork network;
  private final Deque<AutoCloseable> created = new ArrayDeque<>();
  private volatile Context clientContext;
  private volatile Context serverContext;
  private @Nullable Connection client;
  private @Nullable Connection server;

  private SoftHosts(SoftNetwork network) {
    this.network = network;
    clientContext = started("client", CLIENT);
    serverContext = started("server", SERVER);
  }

  private Context started(String host, InetSocketAddress address) {
    return created(network.addDevice(host, address.getAddress()).open());
  }

  private <T extends AutoCloseable> T created(T object) {
    created.push(object);
    return object;
  }

  /**
   * Creates two hosts: {@code client} with the address 192.0.2.1 and {@code server} with 192.0.2.2.
   *
   * <p>With the system property {@code dev.verbena.soft.strict}, whose value is a seed, they are
   * {@linkplain #strict strict}: so a whole test run shows which tests rely on luck.
   *
   * @return the hosts, to be closed by the test
   * @throws UnsupportedOperationException if the platform is not 64-bit and little-endian
   * @throws IllegalCallerException if the JVM denies native access, which the C structs require
   * @throws IllegalArgumentException if the system property is not a number
   */
  public static SoftHosts create() {
    String seed = System.getProperty(STRICT);
    return seed == null ? new SoftHosts(SoftNetwork.create()) : strict(parsed(seed));
  }

  private static long parsed(String seed) {
    try {
      return Long.parseLong(seed);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "the system property " + STRICT + " is a seed, such as 42, not " + seed, e);
    }
  }

  /**
   * Creates two hosts whose devices have the limits and refusals of a named device, such as {@code
   * siw}: see {@link SoftNetwork#profile}.
   *
   * @param profile the name of the profile
   * @return the hosts, to be closed by the test
   * @throws IllegalArgumentException if there is no such profile
   */
  public static SoftHosts create(String profile) {
    SoftNetwork network = SoftNetwork.create();
    try {
      return new SoftHosts(network.profile(profile));
    } catch (Throwable t) {
      network.close();
      throw t;
    }
  }

  /**
   * Creates two hosts whose devices do late, and in another order, what the specification leaves
   * open: see {@link Faults#strict}. A test that passes with {@link #create} alone relies on luck.
   *
   * @param seed determines what is late: print it, to repeat a run as far as the threads of the
   *     test allow
   * @return the hosts, to be closed by the test
   * @throws UnsupportedOperationException if the platform is not 64-bit and little-endian
   * @throws IllegalCallerException if the JVM denies native access, which the C structs require
   */
  public static SoftHosts strict(long seed) {
    SoftHosts hosts = new SoftHosts(SoftNetwork.create());
    Faults _ = hosts.faults().seed(seed).strict();
    return hosts;
  }

  /**
   * Kills a host and starts it again with the same address and a new device, on which nothing is
   * open: as a host that loses power, or one that was killed before by {@link Faults#kill}. This
   * closes the objects which these hosts created for it: its context and its end of the connection.
   * The next call of {@link #client} or {@link #server} establishes a new connection; the other end
   * of the former one remains open until the hosts are closed.
   *
   * {@snippet :
   * Connection client = hosts.client();
   * hosts.faults().kill("server");
   * assertThrows(RdmaException.class, () -> client.send(request));
   * hosts.restart("server");
   * hosts.client().send(request);
   * }
   *
   * @param host {@code client} or {@code server}, the name of its device
   * @throws IllegalArgumentException if it is none of them
   */
  public synchronized void restart(String host) {
    boolean isClient = host.equals("client");
    if (!isClient && !host.equals("server")) {
      throw new IllegalArgumentException("the hosts are named client and server, not " + host);
    }
    if (network.hasDevice(host)) {
      network.kill(host);
    }
    Connection ended = isClient ? client : server;
    client = null;
    server = null;
    if (ended != null) {
      created.remove(ended);
      ended.close();
    }
    Context context = isClient ? clientContext : serverContext;
    created.remove(context);
    context.close();
    if (isClient) {
      clientContext = started(host, CLIENT);
    } else {
      serverContext = started(host, SERVER);
    }
  }

  /** {@return the network between the hosts} */
  public SoftNetwork network() {
    return network;
  }

  /**
   * {@return the faults of the network, none at first} The devices are named {@code client} and
   * {@code server}.
   */
  public Faults faults() {
    return network.faults();
  }

  /**
   * Returns the open device of the client.
   *
   * @return the context; closing the hosts closes it
   */
  public Context clientContext() {
    return clientContext;
  }

  /**
   * Returns the open device of the server.
   *
   * @return the context; closing the hosts closes it
   */
  public Context serverContext() {
    return serverContext;
  }

  /**
   * Returns the IP address of the server's device, for code under test that listens and connects
   * itself: see {@link #call}.
   *
   * @return 192.0.2.2
   */
  public InetAddress serverAddress() {
    return SERVER.getAddress();
  }

  /**
   * Returns the client's end of a connection between the hosts, which the first call establishes.
   *
   * @return the connection; closing the hosts closes it
   * @throws RdmaTimeoutException if the hosts cannot connect within ten seconds, as faults may
   *     cause
   * @throws InterruptedException if the thread is interrupted
   */
  public synchronized Connection client() throws InterruptedException {
    connect();
    return client;
  }

  /**
   * Returns the server's end of the connection of {@link #client}.
   *
   * @return the connection; closing the hosts closes it
   * @throws RdmaTimeoutException if the hosts cannot connect within ten seconds, as faults may
   *     cause
   * @throws InterruptedException if the thread is interrupted
   */
  public synchronized Connection server() throws InterruptedException {
    connect();
    return server;
  }

  private void connect() throws InterruptedException {
    long start = Time.now();
    for (int attempt = 1; client == null; attempt++) {
      boolean isLast = attempt == ATTEMPTS;
      long left = Math.max(0, TIMEOUT.toNanos() - (Time.now() - start));
      long limit = isLast ? left : left / 2; // Most connect in the first one.
      try {
        network.call(() -> establish(limit));
      } catch (RdmaTimeoutException | TimeoutException e) {
        if (isLast) { // The request has perhaps waited behind another, or the ends disagree.
          RdmaTimeoutException failure = new RdmaTimeoutException("connecting the hosts", TIMEOUT);
          failure.initCause(e);
          throw failure;
        }
      } catch (InterruptedException | RuntimeException e) {
        if (isLast || !isRejected(e)) {
          throw e;
        }
      } catch (Exception e) {
        Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
        throw new IllegalStateException("the hosts cannot connect: " + cause.getMessage(), cause);
      }
    }
  }

  private static boolean isRejected(Exception failure) {
    return failure instanceof ConnectionException e && e.event().type() == EventType.REJECTED;
  }

  private @Nullable Void establish(long nanos) throws Exception {
    long start = Time.now();
    ConnectionSettings settings = ConnectionSettings.DEFAULT.withTimeout(Duration.ofNanos(nanos));
    try (Listener listener = Listener.open(SERVER)) {
      FutureTask<Connection> accepting = new FutureTask<>(() -> accept(listener, settings));
      Thread acceptor = Thread.ofVirtual().name("accept").start(accepting);
      Connection connected = null;
      try {
        connected = Connection.connect(SERVER, settings.withLocalAddress(CLIENT));
        server = created(Time.get(accepting, nanos - (Time.now() - start)));
        client = created(connected);
      } finally {
        if (client == null) {
          acceptor.interrupt();
          closeAccepted(acceptor, accepting);
          if (connected != null) {
            connected.close();
          }
        }
      }
    }
    return null;
  }

  /**
   * Accepts the client's request. The request of an earlier attempt, which was interrupted, may
   * arrive first, and fails; if the client's own fails, the client is rejected.
   */
  private static Connection accept(Listener listener, ConnectionSettings settings)
      throws InterruptedException {
    while (true) {
      Endpoint request = listener.take();
      try {
        return Connection.accept(request, settings);
      } catch (RdmaException e) {
        // The next request.
      }
    }
  }

  /** Closes the server's end of a connection that is not used, if there is one. */
  private static void closeAccepted(Thread acceptor, FutureTask<Connection> accepting) {
    boolean _ =
        Uninterrupted.await(
            () -> {
              acceptor.join();
              return true;
            });
    if (accepting.state() == Future.State.SUCCESS) {
      accepting.resultNow().close();
    }
  }

  /**
   * Calls code under test with the devices of the hosts in place of those of this machine: see
   * {@link SoftNetwork#call}.
   *
   * @param <T> the type of the result
   * @param code the code
   * @return the result of the code
   * @throws Exception if the code throws it
   */
  public <T> T call(Callable<T> code) throws Exception {
    return network.call(code);
  }

  /**
   * Closes the connection, the contexts and the network.
   *
   * @throws IllegalStateException if objects are open that neither the hosts created nor one of
   *     their contexts or connections owned: the test, or the code under test, did not close them.
   *     The message lists them
   */
  @Override
  public synchronized void close() {
    RuntimeException failure = null;
    while (!created.isEmpty()) {
      try {
        created.pop().close();
      } catch (Exception e) {
        failure = failure == null ? new IllegalStateException("cannot close " + this, e) : failure;
      }
    }
    Map<String, Integer> open = network.openObjects();
    network.close();
    if (!open.isEmpty()) {
      IllegalStateException leaked = new IllegalStateException("not closed: " + open);
      if (failure != null) {
        leaked.addSuppressed(failure);
      }
      throw leaked;
    }
    if (failure != null) {
      throw failure;
    }
  }

  @Override
  public String toString() {
    return "hosts of " + network;
  }
}
