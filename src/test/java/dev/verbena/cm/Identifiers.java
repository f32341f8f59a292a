package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import dev.verbena.testing.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** Identifiers of tests, and their events. */
public final class Identifiers {
  private Identifiers() {}

  /** The next event, which must be of a type. */
  public static ConnectionEvent next(EventChannel channel, EventType type)
      throws InterruptedException {
    ConnectionEvent event = channel.poll(Await.LIMIT);
    assertNotNull(event, "waited in vain for " + type);
    assertEquals(type, event.type(), event::toString);
    return event;
  }

  /** An identifier that is ready to connect. */
  public static ConnectionId resolved(EventChannel channel, InetAddress from, InetSocketAddress to)
      throws InterruptedException {
    ConnectionId id = channel.createId(PortSpace.TCP);
    id.resolveAddress(new InetSocketAddress(from, 0), to, Await.LIMIT);
    next(channel, EventType.ADDR_RESOLVED);
    id.resolveRoute(Await.LIMIT);
    next(channel, EventType.ROUTE_RESOLVED);
    return id;
  }
}
