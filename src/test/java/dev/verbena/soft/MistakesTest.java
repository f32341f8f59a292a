package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.testing.Await;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The messages of mistakes that are easily made name what is wrong, and the remedy. */
@Tag("host")
class MistakesTest {
  private static void assertMessage(
      Class<? extends Throwable> type, Executable call, String... has) {
    String message = assertThrows(type, call).getMessage();
    for (String part : has) {
      assertTrue(message.contains(part), message);
    }
  }

  private static String advice(SoftPair pair) {
    SendList list = new SendList(1, 1);
    list.write(0)
        .local(pair.a.region, 0, 4096)
        .remote(pair.b.region.start(), pair.b.region.rkey())
        .signaled();
    assertEquals(1, pair.a.queuePair.post(list));
    CompletionStatus status = pair.completion();
    return status + ": " + status.advice();
  }

  @Test
  void differentPathMtusAreNamed() {
    try (SoftPair pair = SoftPair.unconnected()) {
      var addressOfB = pair.b.queuePair.localAddress();
      pair.b.queuePair.setup().mtu(Mtu.MTU_1024).connect(pair.a.queuePair.localAddress());
      pair.a.queuePair.setup().mtu(Mtu.MTU_2048).connect(addressOfB);
      String advice = advice(pair);
      assertTrue(advice.startsWith("REM_INV_REQ_ERR") && advice.contains("path MTU"), advice);
    }
  }

  @Test
  void differentPsnsAreNamed() {
    try (SoftPair pair = SoftPair.unconnected()) {
      QueuePairAddress b = pair.b.queuePair.localAddress();
      QueuePairAddress a = pair.a.queuePair.localAddress();
      int earlier =
          a.psn() - 1000 & 0xffffff; // What was sent before it is a duplicate, and is acknowledged.
      String other = a.toString().replaceAll("psn=0x\\w+", "psn=0x" + Integer.toHexString(earlier));
      pair.b.queuePair.connect(QueuePairAddress.parse(other));
      pair.a.queuePair.connect(b);
      String advice = advice(pair);
      assertTrue(advice.startsWith("RETRY_EXC_ERR") && advice.contains("PSN"), advice);
    }
  }

  @Test
  void readyToSendFromResetNamesTheState() {
    try (SoftPair pair = SoftPair.unconnected()) {
      assertMessage(
          RuntimeException.class,
          () ->
              pair.a.queuePair.modify(
                  QueuePairAttributes.toReadyToSend(pair.a.queuePair.type()).build()),
          "no transition from state RESET to RTS");
    }
  }

  @Test
  void anAddressOfZerosIsNamed() {
    assertMessage(
        IllegalArgumentException.class,
        () -> QueuePairAddress.fromBytes(new byte[QueuePairAddress.SIZE]),
        "all bytes are zero",
        "readFully");
    try (SoftPair pair = SoftPair.unconnected()) {
      byte[] bytes = pair.a.queuePair.localAddress().toBytes();
      bytes[16] = 0; // The MTU code.
      assertMessage(
          IllegalArgumentException.class,
          () -> QueuePairAddress.fromBytes(bytes),
          "not the address of a queue pair",
          "MTU code is 0");
    }
  }

  @Test
  void anEmptyPollHasNoCompletion() {
    try (SoftPair pair = SoftPair.connected()) {
      Completions completions = new Completions(4);
      assertEquals(0, pair.a.completions.poll(completions));
      assertMessage(
          IndexOutOfBoundsException.class,
          () -> completions.status(0),
          "no completion at index 0",
          "the last poll returned 0");
    }
  }

  @Test
  void anAddressInUseIsNamedWithItsDevice() throws Exception {
    InetAddress address = InetAddress.getByName("192.0.2.1");
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("left", address);
      assertMessage(
          IllegalArgumentException.class,
          () -> network.addDevice("right", address),
          "192.0.2.1",
          "left");
    }
  }

  /** The kernel chooses another address instead. */
  @Test
  void aLoopbackAddressToConnectFromIsNamed() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      InetSocketAddress server = new InetSocketAddress(hosts.serverAddress(), 7471);
      ConnectionSettings settings =
          ConnectionSettings.DEFAULT.withLocalAddress(
              new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0));
      assertMessage(
          IllegalArgumentException.class,
          () -> hosts.call(() -> Connection.connect(server, settings)),
          "cannot connect from /127.0.0.1:0",
          "RDMA devices have no loopback address");
    }
  }

  /** The kernel would bind to all addresses instead. */
  @Test
  void aLoopbackAddressOfAChannelIsNamed() throws Exception {
    InetSocketAddress loopback = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0);
    try (SoftHosts hosts = SoftHosts.create();
        SocketChannel channel = RdmaSelectorProvider.provider().openSocketChannel();
        ServerSocketChannel listener = RdmaSelectorProvider.provider().openServerSocketChannel()) {
      String[] words = {"cannot bind to /127.0.0.1:0", "RDMA devices have no loopback address"};
      assertMessage(BindException.class, () -> hosts.call(() -> channel.bind(loopback)), words);
      assertMessage(BindException.class, () -> hosts.call(() -> listener.bind(loopback)), words);
    }
  }

  @Test
  void aMessageSizeThatExceedsMemoryIsNamed() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      InetSocketAddress server = new InetSocketAddress(hosts.serverAddress(), 7471);
      ConnectionSettings settings = ConnectionSettings.DEFAULT.withMessageSize(Integer.MAX_VALUE);
      assertMessage(
          Throwable.class,
          () -> hosts.call(() -> Connection.connect(server, settings)),
          "2147483647",
          "message size");
    }
  }

  @Test
  void aWriteWithoutRemoteNamesTheCall() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList list = new SendList(2, 1);
      list.write(0).local(pair.a.region, 0, 8).remote(pair.b.region.start(), pair.b.region.rkey());
      list.write(1).local(pair.a.region, 0, 8).signaled();
      assertMessage(
          IllegalArgumentException.class,
          () -> pair.a.queuePair.post(list),
          "request 1",
          "call remote()");
    }
  }

  @Test
  void aMessageThatIsNullIsNamed() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection client = hosts.client();
      assertMessage(NullPointerException.class, () -> client.send((byte[]) null), "message");
      assertMessage(NullPointerException.class, () -> client.send((MemorySegment) null), "message");
      client.send(new byte[1]);
      assertEquals(1, hosts.server().receive().length);
    }
  }

  @Test
  void aMessageThatDoesNotFitIsNotLost() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.client().send("too long".getBytes(UTF_8));
      Connection server = hosts.server();
      for (int i = 0; i < 2; i++) {
        assertMessage(
            IndexOutOfBoundsException.class,
            () -> server.receive(MemorySegment.ofArray(new byte[4]), Await.LIMIT),
            "message of 8 bytes",
            "target of 4 bytes",
            "the next receive returns it");
      }
      assertArrayEquals("too long".getBytes(UTF_8), server.receive());
    }
  }
}
