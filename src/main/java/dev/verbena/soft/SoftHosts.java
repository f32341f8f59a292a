package dev.verbena.soft;

import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionSettings;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.verbs.Context;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

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
  private static final InetSocketAddress CLIENT = address("192.0.2.1", 0);
  private static final InetSocketAddress SERVER = address("192.0.2.2", 7471);

  private final SoftNetwork network = SoftNetwork.create();
  private final Deque<AutoCloseable> created = new ArrayDeque<>();
  private final Context clientContext;
  private final Context serverContext;
  private Connection client;
  private Connection server;

  private SoftHosts() {
    clientContext = created(network.addDevice("client", CLIENT.getAddress()).open());
    serverContext = created(network.addDevice("server", SERVER.getAddress()).open());
  }

  private static InetSocketAddress address(String address, int port) {
    try {
      return new InetSocketAddress(InetAddress.getByName(address), port);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  private <T extends AutoCloseable> T created(T object) {
    created.push(object);
    return object;
  }

  /**
   * Creates two hosts: {@code client} with the address 192.0.2.1 and {@code server} with 192.0.2.2.
   *
   * @return the hosts, to be closed by the test
   * @throws UnsupportedOperationException if this is not Linux on x86-64 or aarch64
   * @throws IllegalCallerException if the JVM denies native access, which the C structs require
   */
  public static SoftHosts create() {
    return new SoftHosts();
  }

  /**
   * Returns the network between the hosts.
   *
   * @return the network
   */
  public SoftNetwork network() {
    return network;
  }

  /**
   * Returns the faults of the network, none at first.
   *
   * @return the faults
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
   * @throws InterruptedException if the thread is interrupted
   */
  public synchronized Connection server() throws InterruptedException {
    connect();
    return server;
  }

  private void connect() throws InterruptedException {
    if (client != null) {
      return;
    }
    try {
      network.call(this::establish);
    } catch (InterruptedException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException("the hosts cannot connect: " + e.getMessage(), e);
    }
  }

  private Void establish() throws Exception {
    ConnectionSettings settings = ConnectionSettings.DEFAULT;
    try (Listener listener = Listener.open(SERVER)) {
      FutureTask<Connection> accepting =
          new FutureTask<>(
              () -> {
                Endpoint request = listener.take();
                return Connection.accept(request, settings);
              });
      Thread acceptor = Thread.ofVirtual().name("accept").start(accepting);
      Connection connected = null;
      try {
        connected = Connection.connect(SERVER, settings.from(CLIENT));
        server = created(accepting.get());
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

  /** Closes the server's end of a connection that is not used, if there is one. */
  private static void closeAccepted(Thread acceptor, FutureTask<Connection> accepting) {
    boolean interrupted = false;
    while (acceptor.isAlive()) {
      try {
        acceptor.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (accepting.state() == Future.State.SUCCESS) {
      accepting.resultNow().close();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
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
