package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Contexts;
import dev.verbena.cm.Listener;
import dev.verbena.internal.life.Core;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a program learns of the end of a connection without waiting, and domains of its own. */
@Tag("host")
class ConnectionLifeTest {
  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT
          .withTimeout(Await.LIMIT)
          .withLocalAddress(new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0));

  private final SoftHosts hosts = SoftHosts.create();

  /** Two ends of a connection. */
  private record Ends(Connection client, Connection server) {}

  @AfterEach
  void close() {
    hosts.close();
  }

  private Ends connect(ConnectionSettings settings) throws Exception {
    try (Listener listener =
        hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      FutureTask<Connection> accepting =
          new FutureTask<>(
              () -> Connection.accept(listener.take(), SETTINGS.withTimeout(Await.LIMIT)));
      Thread.ofPlatform().daemon().start(accepting);
      InetSocketAddress peer = new InetSocketAddress(hosts.serverAddress(), listener.port());
      Connection client = hosts.call(() -> Connection.connect(peer, settings));
      return new Ends(client, accepting.get());
    }
  }

  @Test
  void aCloseOfThePeerRunsTheActionAndTheConnectionIsNotOpen() throws Exception {
    Ends ends = connect(SETTINGS);
    assertTrue(ends.client.isOpen());
    assertTrue(ends.server.isOpen());
    CountDownLatch ended = new CountDownLatch(1);
    AtomicInteger replaced = new AtomicInteger();
    ends.client.whenEnded(replaced::incrementAndGet);
    ends.client.whenEnded(
        () -> {
          assertTrue(Thread.currentThread().isVirtual());
          ends.client.close();
          ended.countDown();
        });
    assertThrows(NullPointerException.class, () -> ends.client.whenEnded(null));
    assertEquals(1, ended.getCount());
    ends.server.close();
    assertFalse(ends.server.isOpen());
    ended.await();
    assertFalse(ends.client.isOpen());
    CountDownLatch atOnce = new CountDownLatch(1);
    ends.client.whenEnded(atOnce::countDown);
    atOnce.await();
    assertEquals(0, replaced.get(), "a later call replaces an action");
  }

  @Test
  void anOwnCloseRunsTheAction() throws Exception {
    Ends ends = connect(SETTINGS);
    CountDownLatch ended = new CountDownLatch(1);
    ends.client.whenEnded(ended::countDown);
    ends.client.close();
    ended.await();
    assertNull(ends.server.receive(Await.LIMIT));
    assertFalse(ends.server.isOpen());
    ends.server.close();
  }

  @Test
  void aFailedRequestMeansNotOpen() throws Exception {
    Ends ends = connect(SETTINGS);
    MemoryRegion region = ends.client.domain().allocateMemory(64, AccessFlag.LOCAL_WRITE);
    assertThrows(
        RuntimeException.class,
        () -> ends.client.read(region, 0, 8, RemoteMemory.at(4096, 8, 12345), 0));
    assertFalse(ends.client.isOpen());
    ends.client.close();
    ends.server.close();
  }

  @Test
  void connectionsWithOneDomainShareRegionsAndLeaveItOpen() throws Exception {
    String name = hosts.clientContext().device().name();
    Context context =
        hosts.call(
            () ->
                Contexts.list().stream()
                    .filter(c -> c.device().name().equals(name))
                    .findFirst()
                    .orElseThrow());
    try (ProtectionDomain domain = context.allocateProtectionDomain()) {
      MemoryRegion source = domain.allocateMemory(8, AccessFlag.LOCAL_WRITE);
      source.memory().set(ValueLayout.JAVA_LONG, 0, 42);
      ConnectionSettings settings = SETTINGS.withDomain(domain);
      assertTrue(settings.toString().endsWith(", " + domain), settings::toString);
      List<Ends> both = List.of(connect(settings), connect(settings));
      for (Ends ends : both) {
        assertEquals(domain, ends.client.domain());
        MemoryRegion target =
            ends.server.domain().allocateMemory(8, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        ends.client.write(source, 0, 8, RemoteMemory.of(target), 0);
        assertEquals(42, target.memory().get(ValueLayout.JAVA_LONG, 0));
        ends.client.close();
        ends.server.close();
        assertTrue(domain.isOpen());
        assertTrue(source.isOpen());
      }
      InetSocketAddress nobody = new InetSocketAddress(hosts.serverAddress(), 1);
      assertThrows(
          ConnectionException.class, () -> hosts.call(() -> Connection.connect(nobody, settings)));
      assertEquals(List.of(source), Core.of(domain).children(MemoryRegion.class));
      assertThrows(
          IllegalArgumentException.class,
          () -> RequestClient.connect(new InetSocketAddress(1), settings));
      assertThrows(
          IllegalArgumentException.class,
          () -> RequestServer.builder(new InetSocketAddress(1), _ -> {}).settings(settings).open());
    }
    ProtectionDomain closed = context.allocateProtectionDomain();
    Ends ends = connect(SETTINGS.withDomain(closed));
    closed.close();
    assertFalse(ends.client.isOpen(), "the domain has closed its queue pair");
    ends.client.close();
    ends.server.close();
    try (Context another = hosts.clientContext().device().open()) {
      ConnectionSettings settings = SETTINGS.withDomain(another.allocateProtectionDomain());
      assertThrows(IllegalArgumentException.class, () -> connect(settings));
    }
  }
}
