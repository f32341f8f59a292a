package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.RejectReason;
import dev.verbena.internal.time.Time;
import dev.verbena.testing.Await;
import dev.verbena.values.QueuePairCapacity;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Messages of the communication manager that are lost, repeated or late. */
@InSimulation
class CmFaultsTest {
  private static final Duration LONG = Await.LIMIT;
  private static final Duration SHORT = Duration.ofMillis(50);
  private static final QueuePairCapacity SMALL = QueuePairCapacity.of(1);

  private final SoftNetwork network = SoftNetwork.create();
  private EventChannel active;
  private EventChannel passive;

  @BeforeEach
  void open() throws Exception {
    var _ = network.addDevice("soft0", InetAddress.getByName("10.77.0.1"));
    var _ = network.addDevice("soft1", InetAddress.getByName("10.77.0.2"));
    active = network.call(EventChannel::open);
    passive = network.call(EventChannel::open);
  }

  @AfterEach
  void close() {
    network.faults().none();
    active.close();
    passive.close();
    network.close();
  }

  private static ConnectionEvent next(EventChannel channel, EventType type) throws Exception {
    ConnectionEvent event = channel.poll(LONG);
    assertNotNull(event, "no event " + type);
    assertEquals(type, event.type(), event::toString);
    return event;
  }

  private ConnectionId listener(PortSpace space, int backlog) throws Exception {
    ConnectionId listener = passive.createId(space);
    listener.bind(new InetSocketAddress(InetAddress.getByName("10.77.0.2"), 0));
    listener.listen(backlog);
    return listener;
  }

  /** An identifier that has resolved the way to a listener. */
  private ConnectionId client(ConnectionId listener) throws Exception {
    return client(listener.portSpace(), listener.localAddress().orElseThrow());
  }

  private ConnectionId client(PortSpace space, InetSocketAddress listener) throws Exception {
    ConnectionId client = active.createId(space);
    client.resolveAddress(null, listener, LONG);
    next(active, EventType.ADDR_RESOLVED);
    client.resolveRoute(LONG);
    next(active, EventType.ROUTE_RESOLVED);
    var _ = client.queues().createQueuePair(SMALL);
    return client;
  }

  /** The other end of a connection that is established. */
  private ConnectionId connect(ConnectionId client) throws Exception {
    client.connect();
    ConnectionId server = next(passive, EventType.CONNECT_REQUEST).id();
    var _ = server.queues().createQueuePair(SMALL);
    server.accept();
    assertSame(client, next(active, EventType.ESTABLISHED).id());
    assertSame(server, next(passive, EventType.ESTABLISHED).id());
    return server;
  }

  private void connectAndDisconnect(int times) throws Exception {
    ConnectionId listener = listener(PortSpace.TCP, 8);
    for (int i = 0; i < times; i++) {
      ConnectionId client = client(listener);
      ConnectionId server = connect(client);
      client.disconnect();
      next(passive, EventType.DISCONNECTED);
      server.disconnect();
      next(active, EventType.DISCONNECTED);
      assertSame(client, next(active, EventType.TIMEWAIT_EXIT).id());
      next(passive, EventType.TIMEWAIT_EXIT);
      client.close();
      server.close();
    }
  }

  @Test
  void lostMessagesAreSentAgain() throws Exception {
    network.faults().seed(11).loss(0.25);
    connectAndDisconnect(6);
  }

  @Test
  void repeatedAndOvertakenMessagesCountOnce() throws Exception {
    network.faults().seed(12).duplicate(0.5).reorder(0.5);
    connectAndDisconnect(6);
  }

  @Test
  void lookupsOfDatagramServicesAreSentAgain() throws Exception {
    network.faults().seed(13).loss(0.3);
    ConnectionId listener = listener(PortSpace.UDP, 8);
    for (int i = 0; i < 4; i++) {
      ConnectionId client = client(listener);
      client.connect(ConnectionParameters.DEFAULT, new byte[] {1});
      ConnectionEvent established = null;
      while (established == null) {
        // An answer that was lost is given again when the request is repeated.
        ConnectionEvent request = passive.poll(SHORT);
        if (request != null) {
          var _ = request.id().queues().createQueuePair(SMALL);
          request.id().accept();
        }
        established = active.poll(SHORT);
      }
      assertEquals(EventType.ESTABLISHED, established.type());
      client.close();
    }
  }

  @Test
  void aRequestWithoutAnswerEndsAsUnreachable() throws Exception {
    ConnectionId client = client(listener(PortSpace.TCP, 1));
    network.faults().partition("soft0", "soft1");
    client.connect();
    assertEquals(-Errno.ETIMEDOUT, next(active, EventType.UNREACHABLE).status());
  }

  @Test
  void aDisconnectionWithoutAnswerEndsAllTheSame() throws Exception {
    ConnectionId client = client(listener(PortSpace.TCP, 1));
    connect(client);
    network.faults().partition("soft0", "soft1");
    client.disconnect();
    assertEquals(-Errno.ETIMEDOUT, next(active, EventType.DISCONNECTED).status());
    next(active, EventType.TIMEWAIT_EXIT);
  }

  @Test
  void anAddressBehindAPartitionIsNotResolved() throws Exception {
    ConnectionId listener = listener(PortSpace.TCP, 1);
    network.faults().partition("soft0", "soft1");
    ConnectionId client = active.createId(PortSpace.TCP);
    InetSocketAddress peer = listener.localAddress().orElseThrow();
    client.resolveAddress(null, peer, SHORT);
    assertEquals(-Errno.ETIMEDOUT, next(active, EventType.ADDR_ERROR).status());
    network.faults().heal();
    client.resolveAddress(null, peer, SHORT);
    next(active, EventType.ADDR_RESOLVED);
  }

  @Test
  void aRequestBeyondTheBacklogIsRejected() throws Exception {
    ConnectionId listener = listener(PortSpace.TCP, 1);
    ConnectionId first = client(listener);
    ConnectionId second = client(listener);
    first.connect();
    Await.until(
        "the first request",
        () ->
            network.engine.locked(() -> network.fabric.devices().get(1).counters.receivedPackets)
                > 0);
    second.connect();
    ConnectionEvent rejected = next(active, EventType.REJECTED);
    assertSame(second, rejected.id());
    assertEquals(RejectReason.CONSUMER_DEFINED, rejected.rejectReason().orElseThrow());
    next(passive, EventType.CONNECT_REQUEST);
  }

  @Test
  void aSlowProgramIsWaitedFor() throws Exception {
    ConnectionId client = client(listener(PortSpace.TCP, 1));
    client.connect();
    ConnectionId server = next(passive, EventType.CONNECT_REQUEST).id();
    Await.pass(
        Duration.ofMillis(16 * 268 + 500), "longer than all repetitions of the request together");
    var _ = server.queues().createQueuePair(SMALL);
    server.accept();
    next(active, EventType.ESTABLISHED);
    next(passive, EventType.ESTABLISHED);
  }

  @Test
  void anRtuThatIsLostAfterALateReplyIsAskedForSoon() throws Exception {
    ConnectionId client = client(listener(PortSpace.TCP, 1));
    client.connect();
    ConnectionId server = next(passive, EventType.CONNECT_REQUEST).id();
    var _ = server.queues().createQueuePair(SMALL);
    server.accept();
    Await.pass(Duration.ofMillis(400), "the reply has come again, and is answered by an MRA");
    network.faults().loss(1);
    assertSame(client, next(active, EventType.ESTABLISHED).id());
    network.faults().loss(0);
    ConnectionEvent event = passive.poll(Duration.ofSeconds(60)); // It took 69.
    assertNotNull(event, "the reply does not come again");
    assertEquals(EventType.ESTABLISHED, event.type());
    assertSame(server, event.id());
  }

  @Test
  void anIdentifierWhoseDomainCannotBeAllocatedIsClosed() {
    network.faults().fail("ibv_alloc_pd", 1, Errno.ENOMEM);
    ConnectionId id = passive.createId(PortSpace.TCP);
    VerbsException e =
        assertThrows(
            VerbsException.class,
            () -> id.bind(new InetSocketAddress(InetAddress.ofLiteral("10.77.0.2"), 0)));
    assertEquals(Errno.ENOMEM, e.errno());
    id.close();
  }

  @Test
  void anIdentifierWhoseEventCannotBeProcessedIsClosed() throws Exception {
    ConnectionId client = active.createId(PortSpace.TCP);
    network.faults().fail("ibv_alloc_pd", 1, Errno.ENOMEM);
    client.resolveAddress(
        null, new InetSocketAddress(InetAddress.ofLiteral("10.77.0.2"), 7471), LONG);
    assertEquals(-1, next(active, EventType.ADDR_ERROR).status());
    Thread closing = Time.daemon().start(client::close);
    Await.until("the identifier is closed", () -> !closing.isAlive());
  }

  @Test
  void aRequestForWhichNoDomainCanBeAllocatedIsRejected() throws Exception {
    InetAddress any = InetAddress.ofLiteral("0.0.0.0"); // No device is open for it.
    ConnectionId listener = passive.createId(PortSpace.TCP);
    listener.bind(new InetSocketAddress(any, 7471));
    listener.listen(1);
    ConnectionId client =
        client(PortSpace.TCP, new InetSocketAddress(InetAddress.ofLiteral("10.77.0.2"), 7471));
    network.faults().fail("ibv_alloc_pd", 1, Errno.ENOMEM);
    client.connect();
    AtomicReference<ConnectionEvent> end = new AtomicReference<>();
    Await.until(
        "an event of the client",
        () -> {
          assertNull(passive.poll(), "an event of the request");
          end.set(active.poll());
          return end.get() != null;
        });
    assertEquals(EventType.REJECTED, end.get().type());
    client.close();
    listener.close();
    assertEquals(Map.of("event channel", 2), network.openObjects());
  }
}
