package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.LoggedMessages;
import java.lang.ref.Reference;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.FutureTask;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** Connections, listeners and endpoints that a program forgets to close are reported. */
class DroppedTest {
  private static final int CONNECTIONS = 3;
  private static final String ADVICE =
      " was never closed; -Ddev.verbena.leaks=trace adds where it was created";

  @Test
  void whatWasNeverClosedIsReported() throws Exception {
    SoftHosts hosts = SoftHosts.create(); // Not closed: it would report the same as an exception.
    try (LoggedMessages connections =
            new LoggedMessages("dev.verbena", Level.WARNING, "connection of");
        LoggedMessages listeners = new LoggedMessages("dev.verbena", Level.WARNING, "listener on");
        LoggedMessages endpoints =
            new LoggedMessages("dev.verbena", Level.WARNING, "endpoint of")) {
      Set<String> expected =
          hosts.call(() -> forget(new InetSocketAddress(hosts.serverAddress(), 7000)));
      while (connections.all().size() < expected.size() || listeners.all().isEmpty()) {
        System.gc();
        Thread.onSpinWait();
      }
      assertEquals(expected, new TreeSet<>(connections.all()));
      assertEquals(1, listeners.all().size(), "what was closed was reported");
      assertEquals(List.of(), endpoints.all(), "their connections close them");
    } finally {
      Reference.reachabilityFence(hosts);
    }
  }

  @Test
  void endpointThatWasNeverClosedIsReported() throws Exception {
    SoftHosts hosts = SoftHosts.create();
    try (LoggedMessages endpoints =
        new LoggedMessages("dev.verbena", Level.WARNING, "endpoint of")) {
      InetSocketAddress server = new InetSocketAddress(hosts.serverAddress(), 7000);
      String expected = "WARNING: " + hosts.call(() -> forgetEndpoint(server)) + ADVICE;
      Await.until(
          () -> expected + " in " + endpoints.all(),
          () -> {
            System.gc();
            return endpoints.all().contains(expected);
          });
      assertEquals(List.of(expected), endpoints.all(), "what was closed was reported");
    } finally {
      Reference.reachabilityFence(hosts);
    }
  }

  /** Returns the text of an endpoint that is forgotten; another one is closed. */
  private static String forgetEndpoint(InetSocketAddress server) throws Exception {
    Endpoint.resolve(PortSpace.TCP, null, server, Await.LIMIT).close();
    Endpoint forgotten =
        Endpoint.bind(PortSpace.TCP, new InetSocketAddress(server.getAddress(), 0));
    return forgotten.toString();
  }

  /** Returns the messages about what is forgotten; what is closed is not. */
  private static Set<String> forget(InetSocketAddress address) throws Exception {
    Set<String> expected = new TreeSet<>();
    Listener.open(new InetSocketAddress(address.getAddress(), 7001)).close();
    Listener listener = Listener.open(address);
    List<Connection> all = new ArrayList<>();
    ConnectionSettings patient = ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT);
    for (int i = 0; i < CONNECTIONS; i++) {
      var accepting = new FutureTask<>(() -> Connection.accept(listener, patient));
      Thread.ofVirtual().start(accepting);
      Connection client = Connection.connect(address, patient);
      Connection server = accepting.get();
      if (i == 0) {
        client.close();
        server.close();
      } else {
        all.add(client);
        all.add(server);
      }
    }
    all.forEach(connection -> expected.add("WARNING: " + connection + ADVICE));
    return expected;
  }
}
