package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.io.Readiness;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.verbs.QueuePair;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;

/** A listener that migrates while a request waits, on software devices: Linux loses the request. */
class ListenerMigrationTest {
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");

  @SuppressWarnings("try") // One channel is closed before the other.
  @Test
  void requestFollowsItsListener() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        EventChannel active = hosts.call(EventChannel::open);
        EventChannel first = hosts.call(EventChannel::open);
        EventChannel other = hosts.call(EventChannel::open)) {
      InetAddress address = hosts.serverAddress();
      ConnectionId listener = RdmaCmTest.listening(first, address);
      ConnectionId client = Identifiers.resolved(active, CLIENT, RdmaCmTest.at(listener, address));
      QueuePair _ = client.queues().createQueuePair(RdmaCmTest.SMALL);
      client.connect();
      Await.until("the request", Readiness.of(first.descriptor())::isReadable);
      listener.migrate(other);
      ConnectionId server = Identifiers.next(other, EventType.CONNECT_REQUEST).id();
      assertEquals(other, server.channel().orElseThrow());
      QueuePair _ = server.queues().createQueuePair(RdmaCmTest.SMALL);
      server.accept();
      Identifiers.next(active, EventType.ESTABLISHED);
      assertEquals(server, Identifiers.next(other, EventType.ESTABLISHED).id());
      first.close();
      assertTrue(server.isOpen(), "closed with a channel that its listener had left");
      client.disconnect();
      assertEquals(server, Identifiers.next(other, EventType.DISCONNECTED).id());
    }
  }
}
