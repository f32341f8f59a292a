package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.cm.AddressChange;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Listener;
import dev.verbena.internal.time.Time;
import dev.verbena.messages.ConnectionTest.Pair;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The settings of a connection: each has its effect. */
class ConnectionSettingsTest {
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final Duration OFTEN = Duration.ofMillis(20);

  private final SoftHosts hosts = SoftHosts.create();

  @AfterEach
  void close() {
    hosts.close();
  }

  private Pair pair(ConnectionSettings client, ConnectionSettings server) throws Exception {
    return hosts.call(() -> Pair.between(CLIENT, hosts.serverAddress(), client, server));
  }

  private static QueuePairAttributes attributes(Connection connection) {
    return connection.endpoint().id().queuePair().orElseThrow().query();
  }

  @Test
  void numbersOfAtomicOperationsAreAlignedAndInRange() {
    RemoteMemory memory = RemoteMemory.at(0x0102_0304_0506_0708L, 4096, 0xcafe);
    assertEquals(memory.address() + 4000, Sending.addressOfNumber(memory, 4000));
    assertThrows(IllegalArgumentException.class, () -> Sending.addressOfNumber(memory, 4001));
    assertThrows(IndexOutOfBoundsException.class, () -> Sending.addressOfNumber(memory, 4096));
  }

  @Test
  void areCheckedAndCopied() {
    ConnectionSettings usual = ConnectionSettings.DEFAULT;
    assertThrows(IllegalArgumentException.class, () -> usual.withMessageSize(0));
    assertThrows(IllegalArgumentException.class, () -> usual.withReceives(0));
    assertThrows(IllegalArgumentException.class, () -> usual.withSends(0));
    assertEquals(6, usual.parameters().rnrRetryCount(), "7 is without end");
    assertEquals(3, usual.withSends(3).withMessageSize(1).withReceives(2).sends());
    byte[] data = {1};
    ConnectionSettings mine = usual.withPrivateData(data);
    data[0] = 2;
    assertArrayEquals(new byte[] {1}, mine.privateData());
  }

  @Test
  void ackTimeoutOfTheActiveSideIsThatOfBoth() throws Exception {
    AckTimeout quick = AckTimeout.ofCode(9);
    try (Pair pair = pair(DEFAULT.withAckTimeout(quick), DEFAULT)) {
      assertEquals(quick, attributes(pair.client()).ackTimeout());
      assertEquals(quick, attributes(pair.server()).ackTimeout());
    }
  }

  @Test
  void ackTimeoutOfThePassiveSideIsItsOwn() throws Exception {
    AckTimeout quick = AckTimeout.ofCode(9);
    try (Pair pair = pair(DEFAULT, DEFAULT.withAckTimeout(quick))) {
      assertEquals(AckTimeout.ofCode(16), attributes(pair.client()).ackTimeout());
      assertEquals(quick, attributes(pair.server()).ackTimeout());
    }
  }

  @Test
  void typeOfServiceIsTheTrafficClassOfBothEnds() throws Exception {
    try (Pair pair = pair(DEFAULT.withTypeOfService(0x68), DEFAULT)) {
      for (Connection end : new Connection[] {pair.client(), pair.server()}) {
        assertEquals(
            0x68, attributes(end).path().orElseThrow().route().orElseThrow().trafficClass());
      }
    }
  }

  @Test
  void addressIsUsedTwiceOnlyWithReuse() throws Exception {
    InetSocketAddress own = new InetSocketAddress(CLIENT, 4711);
    ConnectionSettings settings = DEFAULT.withLocalAddress(own).withTimeout(Await.LIMIT);
    try (Listener listener =
            hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)));
        Listener other =
            hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      var first = Background.inBackground(() -> Connection.accept(listener));
      var second = Background.inBackground(() -> Connection.accept(other));
      ConnectionSettings shared = settings.withAddressReuse();
      InetSocketAddress peer = listener.address().orElseThrow();
      try (Connection one = hosts.call(() -> Connection.connect(peer, shared));
          Connection accepted = first.get()) {
        InetSocketAddress otherPeer = other.address().orElseThrow();
        var inUse =
            assertThrows(
                VerbsException.class,
                () -> hosts.call(() -> Connection.connect(otherPeer, settings)));
        assertEquals(Errno.EADDRINUSE, inUse.errno());
        try (Connection two = hosts.call(() -> Connection.connect(otherPeer, shared));
            Connection acceptedToo = second.get()) {
          two.send(new byte[3]);
          assertEquals(3, acceptedToo.receive(Await.LIMIT).length);
          one.send(new byte[4]);
          assertEquals(4, accepted.receive(Await.LIMIT).length);
        }
      }
    }
  }

  @Test
  @InSimulation
  void keepAliveEndsTheWaitForASilentPeer() throws Exception {
    try (Pair pair = pair(DEFAULT.withKeepAlive(OFTEN), DEFAULT)) {
      var receiving = Background.inBackground(() -> pair.client().receive());
      hosts.faults().partition("client", "server");
      var ended = assertThrows(ExecutionException.class, receiving::get);
      for (RuntimeException e :
          new RuntimeException[] {
            (RuntimeException) ended.getCause(),
            assertThrows(RuntimeException.class, () -> pair.client().send(new byte[1])),
            assertThrows(RuntimeException.class, () -> pair.client().receive(Duration.ZERO))
          }) {
        assertEquals(RdmaTimeoutException.class, e.getClass());
        assertTrue(e.getMessage().contains("the peer /192.0.2.2:"), e.getMessage());
        assertTrue(e.getMessage().contains("silent"), e.getMessage());
      }
    }
  }

  @Test
  void keepAliveEndsTheWaitAlsoIfTheRetriesAreExhaustedFirst() throws Exception {
    ConnectionSettings quick =
        DEFAULT
            .withAckTimeout(AckTimeout.ofCode(1))
            .withParameters(ConnectionParameters.DEFAULT.withRetryCount(0))
            .withKeepAlive(OFTEN, Await.LIMIT);
    try (Pair pair = pair(quick, DEFAULT)) {
      hosts.faults().partition("client", "server");
      var ended = assertThrows(RdmaTimeoutException.class, () -> pair.client().receive());
      assertTrue(ended.timeout().compareTo(Await.LIMIT) < 0, ended.getMessage());
    }
  }

  @Test
  void keepAliveAsksAnIdlePeerAndLeavesItsReceivesAlone() throws Exception {
    try (Pair pair =
        pair(DEFAULT.withKeepAlive(Duration.ofMillis(1), Await.LIMIT), DEFAULT.withReceives(1))) {
      Await.until("keep-alives", () -> pair.client().heard() > 20);
      pair.client().send(new byte[5]);
      assertEquals(5, pair.server().receive(Await.LIMIT).length);
    }
  }

  @Test
  @InSimulation
  void aCloseWhileAKeepAliveAsksIsAnOrderlyOne() throws Exception {
    try (Pair pair = pair(DEFAULT.withKeepAlive(OFTEN), DEFAULT)) {
      hosts.faults().delay(OFTEN.dividedBy(4));
      Time.sleep(OFTEN.toNanos() + 1); // The answer takes half of that.
      pair.client().close();
      assertNull(pair.server().receive());
    }
  }

  @Test
  void postsWithATimeoutSayThatTheLimitIsReached() throws Exception {
    try (Pair pair = pair(DEFAULT.withSends(2), DEFAULT)) {
      MemoryRegion own = pair.client().domain().allocateMemory(64, AccessFlag.LOCAL_WRITE);
      MemoryRegion far =
          pair.server()
              .domain()
              .allocateMemory(
                  64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
      RemoteMemory remote = RemoteMemory.of(far);
      hosts.faults().partition("client", "server");
      pair.client().setTimeout(Duration.ZERO);
      pair.client().postSend(new byte[1]);
      pair.client().postWrite(own, 0, 8, remote, 0);
      for (Executable post :
          new Executable[] {
            () -> pair.client().postSend(new byte[1]),
            () -> pair.client().postSend(MemorySegment.ofArray(new byte[1])),
            () -> pair.client().postRead(own, 0, 8, remote, 0),
            () -> pair.client().postWrite(own, 0, 8, remote, 0)
          }) {
        var full = assertThrows(RdmaTimeoutException.class, post);
        assertTrue(
            full.getMessage().contains("2 requests are under way, the limit"), full.getMessage());
      }
      hosts.faults().heal();
      pair.client().setTimeout(Await.LIMIT);
      pair.client().awaitPosted();
      pair.client().postRead(own, 0, 8, remote, 0);
      pair.client().awaitPosted();
    }
  }

  @Test
  void messageThatDoesNotFitIsNotLost() throws Exception {
    try (Pair pair = pair(DEFAULT, DEFAULT)) {
      pair.client().send(new byte[] {1, 2, 3});
      MemorySegment small = MemorySegment.ofArray(new byte[2]);
      for (int i = 0; i < 2; i++) {
        var tooSmall =
            assertThrows(
                IndexOutOfBoundsException.class, () -> pair.server().receive(small, Await.LIMIT));
        assertTrue(tooSmall.getMessage().contains("message of 3 bytes"), tooSmall.getMessage());
        assertTrue(tooSmall.getMessage().contains("target of 2 bytes"), tooSmall.getMessage());
      }
      assertArrayEquals(new byte[] {1, 2, 3}, pair.server().receive(Await.LIMIT));
      pair.client().send(new byte[1]);
      assertEquals(1, pair.server().receive(small, Await.LIMIT));
    }
  }

  @Test
  void nullMessageIsNamed() throws Exception {
    try (Pair pair = pair(DEFAULT, DEFAULT)) {
      byte[] none = null;
      var missing = assertThrows(NullPointerException.class, () -> pair.client().send(none));
      assertEquals("message", missing.getMessage());
    }
  }

  @Test
  void messagesThatDoNotFitIntoMemoryNameTheSettings() {
    ConnectionSettings huge =
        DEFAULT.withMessageSize(Integer.MAX_VALUE).withReceives(1 << 14).withTimeout(Await.LIMIT);
    InetSocketAddress peer = new InetSocketAddress(hosts.serverAddress(), 7471);
    var tooLarge =
        assertThrows(
            OutOfMemoryError.class, () -> hosts.call(() -> Connection.connect(peer, huge)));
    assertTrue(tooLarge.getMessage().contains("withMessageSize"), tooLarge.getMessage());
  }

  @Test
  void settingsAreNamedAndDoNotChange() {
    ConnectionSettings all =
        DEFAULT
            .withAckTimeout(AckTimeout.DEFAULT)
            .withTypeOfService(104)
            .withAddressReuse()
            .withAddressChange(AddressChange.END)
            .withKeepAlive(Duration.ofSeconds(3));
    String text = all.toString();
    for (String part : new String[] {"type of service 104", "reuse", "end at", "PT3S"}) {
      assertTrue(text.contains(part), text);
    }
    assertEquals(AckTimeout.DEFAULT, all.ackTimeout().orElseThrow());
    assertEquals(Duration.ofSeconds(3), all.keepAlive().orElseThrow());
    assertEquals(AddressChange.END, all.addressChange());
    assertEquals(OptionalInt.empty(), DEFAULT.typeOfService());
    assertEquals(AddressChange.IGNORE, DEFAULT.addressChange());
    assertNull(DEFAULT.keepAlive().orElse(null));
    assertThrows(IllegalArgumentException.class, () -> DEFAULT.withKeepAlive(Duration.ZERO));
    assertThrows(IllegalArgumentException.class, () -> DEFAULT.withTypeOfService(256));
    assertThrows(IllegalArgumentException.class, () -> DEFAULT.withSpin(Duration.ofNanos(-1)));
    assertThrows(NullPointerException.class, () -> DEFAULT.withAckTimeout(null));
    assertThrows(NullPointerException.class, () -> DEFAULT.withAddressChange(null));
  }
}
