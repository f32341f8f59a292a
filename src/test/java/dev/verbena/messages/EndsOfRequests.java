package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.messages.Ends.Place;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.WorkRequestException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A process that ends in the rows of the table of requests in docs/connecting-background.md: that
 * of the server, or of one of its clients.
 */
final class EndsOfRequests implements AutoCloseable {
  /** How it ends. */
  enum End {
    CLOSED,
    ENDED,
    KILLED,
    STOPPED,
    INTERRUPTED
  }

  private static final String DISCONNECTED = "DISCONNECTED";
  private static final Set<String> LOST = Set.of("RETRY_EXC_ERR", "silent");

  private final Place place;
  private final InetAddress here;
  private final InetAddress there;
  private final int port;
  private final @Nullable SoftNetwork network;

  /** Whether the network of the lab loses all packets. */
  private boolean isLossy;

  /** Between this JVM and others with software devices over UDP. */
  static EndsOfRequests overUdp() throws Exception {
    int port;
    try (DatagramSocket socket = new DatagramSocket()) {
      port = socket.getLocalPort();
    }
    InetAddress here = InetAddress.ofLiteral("127.0.0.1");
    return new EndsOfRequests(
        Place.UDP,
        here,
        InetAddress.ofLiteral("127.0.0.2"),
        port,
        SoftNetwork.overUdp(new InetSocketAddress(here, port)));
  }

  /** Between processes of the lab. */
  static EndsOfRequests onRoce() {
    return new EndsOfRequests(Place.ROCE, Rig.addressA(), Rig.addressB(), 0, null);
  }

  private EndsOfRequests(
      Place place, InetAddress here, InetAddress there, int port, @Nullable SoftNetwork network) {
    this.place = place;
    this.here = here;
    this.there = there;
    this.port = port;
    this.network = network;
  }

  private <T> T call(Callable<T> action) throws Exception {
    return network == null ? action.call() : network.call(action);
  }

  private RequestClient connect(InetAddress server) throws Exception {
    ConnectionSettings settings =
        RequestProcess.settings(place).withLocalAddress(new InetSocketAddress(here, 0));
    return call(
        () ->
            RequestClient.connect(new InetSocketAddress(server, RequestProcess.SERVICE), settings));
  }

  private void interrupt() throws Exception {
    if (network == null) {
      Netem.begin("loss 100%");
      isLossy = true;
    } else {
      var _ = network.faults().portDown("udp0", 1);
    }
  }

  private void repair() {
    if (!isLossy) {
      return;
    }
    isLossy = false;
    try {
      Netem.end();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while the network is repaired", e);
    }
  }

  /** The server ends: the calls of its client do so, as the table says. */
  void ofServer(End how) throws Exception {
    try (RequestProcess server = RequestProcess.start(place, there, port, there);
        RequestClient client = connect(there)) {
      assertEquals(1, client.call(new byte[1], Await.LIMIT).length);
      switch (how) {
        case CLOSED -> sendOrder(client, RequestProcess.CLOSE);
        case ENDED -> sendOrder(client, RequestProcess.END);
        case KILLED -> server.kill();
        case STOPPED -> server.stop();
        case INTERRUPTED -> interrupt();
      }
      boolean isKernel = place == Place.ROCE; // It answers for a process that is stopped.
      boolean isTold = how == End.CLOSED || how == End.ENDED || (how == End.KILLED && isKernel);
      Set<String> expected =
          isTold ? Set.of(DISCONNECTED) : how == End.STOPPED && isKernel ? Set.of("late") : LOST;
      Duration timeout = expected.contains("late") ? place.keepAlive.multipliedBy(2) : Await.LIMIT;
      String outcome = outcome(client, timeout);
      while (outcome.equals("answered")) {
        outcome = outcome(client, timeout);
      }
      repair();
      assertTrue(expected.contains(outcome), how + ": " + outcome);
    }
  }

  /** The answer may be lost, too. */
  private static void sendOrder(RequestClient client, byte order) throws InterruptedException {
    try {
      assertEquals(1, client.call(new byte[] {order}, Await.LIMIT).length);
    } catch (ConnectionException e) {
      assertEquals(DISCONNECTED, e.event().type().name());
    }
  }

  private static String outcome(RequestClient client, Duration timeout)
      throws InterruptedException {
    try {
      assertEquals(1, client.call(new byte[1], timeout).length);
      return "answered";
    } catch (ConnectionException e) {
      return e.event().type().name();
    } catch (WorkRequestException e) {
      return e.status().name();
    } catch (RdmaTimeoutException e) {
      return e.getMessage().contains("silent") ? "silent" : "late";
    }
  }

  /** A client ends: its place is free again, and the other client is answered as before. */
  void ofClient(End how) throws Exception {
    AtomicInteger executed = new AtomicInteger();
    AtomicInteger order = new AtomicInteger(RequestProcess.GO_ON);
    RequestServer.Handler handler =
        request -> {
          executed.incrementAndGet();
          request.answer().set(ValueLayout.JAVA_BYTE, 0, (byte) order.get());
          request.answer(1);
        };
    try (RequestServer server =
            call(
                () ->
                    RequestServer.builder(
                            new InetSocketAddress(here, RequestProcess.SERVICE), handler)
                        .settings(RequestProcess.settings(place))
                        .clients(2)
                        .open()
                        .start());
        RequestClient polite = connect(here)) {
      AtomicBoolean isOver = new AtomicBoolean();
      FutureTask<Integer> calling = Background.inBackground(() -> callUntil(polite, isOver));
      try (RequestProcess client = RequestProcess.start(place, there, port, here)) {
        int before = executed.get();
        Await.until("calls of both", () -> executed.get() > before + 100 && server.clients() == 2);
        switch (how) {
          case CLOSED -> order.set(RequestProcess.CLOSE);
          case ENDED -> order.set(RequestProcess.END);
          case KILLED -> client.kill();
          case STOPPED -> client.stop();
          case INTERRUPTED -> throw new IllegalArgumentException("both clients are here");
        }
        if (how == End.STOPPED && place == Place.ROCE) { // The kernel answers the keep-alive.
          Await.pass(place.keepAlive.multipliedBy(3), "keep-alives");
          assertEquals(2, server.clients());
        } else {
          Await.until("a free place", () -> server.clients() == 1);
        }
      }
      isOver.set(true);
      assertTrue(calling.get() > 0);
      order.set(RequestProcess.GO_ON);
      try (RequestProcess _ = RequestProcess.start(place, there, port, here)) {
        Await.until("its place is used again", () -> server.clients() == 2);
      }
    }
  }

  private static int callUntil(RequestClient client, AtomicBoolean isOver)
      throws InterruptedException, RdmaException {
    int calls = 0;
    for (; !isOver.get(); calls++) {
      assertEquals(1, client.call(new byte[1], Await.LIMIT).length);
    }
    return calls;
  }

  @Override
  public void close() {
    repair();
    if (network != null) {
      network.close();
    }
  }
}
