package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What happens to requests when the peer disconnects. */
class PeerLeavesTest {
  private static QueuePair queuePair(Connection connection) {
    return connection.endpoint().id().queuePair().orElseThrow();
  }

  private static void awaitState(Connection connection, QueuePairState state) {
    Await.until(state.name(), () -> queuePair(connection).state() == state);
  }

  @Test
  void outstandingRequestsMayCompleteBeforeTheyAreFlushed() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection server = hosts.server();
      AtomicBoolean outstanding = new AtomicBoolean(true);
      server.endpoint().disconnectAfter(outstanding::get, Await.LIMIT);
      hosts.client().endpoint().id().disconnect();
      Await.until("the end", () -> server.endpoint().end().isPresent());
      Await.pass(Duration.ofMillis(100), "a transition at once would follow the event, too");
      assertEquals(QueuePairState.RTS, queuePair(server).state());
      outstanding.set(false);
      awaitState(server, QueuePairState.ERR);
    }
  }

  @Test
  void outstandingRequestsAreFlushedAfterATime() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection server = hosts.server();
      server.endpoint().disconnectAfter(() -> true, Duration.ofMillis(10));
      hosts.client().endpoint().id().disconnect();
      awaitState(server, QueuePairState.ERR);
    }
  }
}
