package dev.verbena.cm;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A listener that stops does not break the connections that it has accepted. */
class StoppedListenerTest {
  private static final ConnectionSettings SETTINGS =
      DEFAULT
          .withTimeout(Await.LIMIT)
          .withLocalAddress(new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0));

  private final SoftHosts hosts = SoftHosts.create();

  @AfterEach
  void close() {
    hosts.close();
  }

  private Listener listener() throws Exception {
    return hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)));
  }

  private Connection connect(InetSocketAddress address) throws Exception {
    return hosts.call(() -> Connection.connect(address, SETTINGS));
  }

  private static MemoryRegion shared(Listener listener) {
    return listener.domain().allocateMemory(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
  }

  @Test
  void clientsGoOnAfterTheStopAndAreAwaited() throws Exception {
    try (Listener listener = listener()) {
      MemoryRegion shared = shared(listener);
      shared.memory().setString(0, "still there");
      InetSocketAddress address = listener.address().orElseThrow();
      FutureTask<Connection> accepting = Background.inBackground(() -> Connection.accept(listener));
      try (Connection client = connect(address)) {
        Connection server = accepting.get();
        FutureTask<Connection> waiting = Background.inBackground(() -> Connection.accept(listener));
        listener.stop();
        listener.stop();
        var stopped = assertThrows(ExecutionException.class, waiting::get);
        assertInstanceOf(IllegalStateException.class, stopped.getCause());
        assertThrows(IllegalStateException.class, listener::take);
        var refused = assertThrows(ConnectionException.class, () -> connect(address));
        assertEquals(RejectReason.INVALID_SERVICE_ID, refused.event().rejectReason().orElseThrow());

        assertTrue(listener.domain().isOpen());
        MemoryRegion own = client.domain().allocateMemory(64, AccessFlag.LOCAL_WRITE);
        client.read(own, 0, 12, RemoteMemory.of(shared), 0);
        assertEquals("still there", own.memory().getString(0));

        var open =
            assertThrows(
                RdmaTimeoutException.class, () -> listener.awaitConnections(Duration.ofMillis(20)));
        assertTrue(open.getMessage().contains("of which 1 are open"), open.getMessage());
        FutureTask<Void> awaiting =
            Background.inBackground(
                () -> {
                  listener.awaitConnections(Await.LIMIT);
                  return null;
                });
        server.close();
        awaiting.get();
      }
    }
  }

  @Test
  void closeSaysThatClientsUseTheMemoryItCloses() throws Exception {
    try (LoggedMessages log = new LoggedMessages("dev.verbena", Level.ALL, "listener")) {
      Listener listener = listener();
      MemoryRegion region = shared(listener);
      FutureTask<Connection> accepting = Background.inBackground(() -> Connection.accept(listener));
      try (Connection client = connect(listener.address().orElseThrow());
          Connection server = accepting.get()) {
        listener.close();
        String warning = log.next();
        assertTrue(warning.contains("although 1 of its connections are open"), warning);
        assertTrue(!region.isOpen(), "the region is open");
        client.send(new byte[1]);
        assertEquals(1, server.receive(Await.LIMIT).length);
      }
    }
  }

  @Test
  void closeWithoutConnectionsOrRegionsSaysNothing() throws Exception {
    try (LoggedMessages log = new LoggedMessages("dev.verbena", Level.ALL, "listener")) {
      try (Listener listener = listener()) {
        shared(listener);
        FutureTask<Connection> accepting =
            Background.inBackground(() -> Connection.accept(listener));
        connect(listener.address().orElseThrow()).close();
        accepting.get().close();
        listener.stop();
      }
      assertEquals(List.of(), log.all());
    }
  }
}
