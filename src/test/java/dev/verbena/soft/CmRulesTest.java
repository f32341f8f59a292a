package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.PortSpace;
import dev.verbena.testing.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RDMA CM of software devices refuses what librdmacm and the kernel refuse. */
@Tag("host")
class CmRulesTest {
  private final SoftNetwork network = SoftNetwork.create();
  private EventChannel channel;

  @BeforeEach
  void open() throws Exception {
    for (int host = 1; host <= 2; host++) {
      network.addDevice(
          "soft" + host,
          List.of(
              List.of(
                  InetAddress.getByName("192.0.2." + host),
                  InetAddress.getByName("2001:db8::" + host))));
    }
    channel = network.call(EventChannel::open);
  }

  @AfterEach
  void close() {
    channel.close();
    network.close();
  }

  private static InetSocketAddress address(String host) {
    return new InetSocketAddress(host, host.endsWith("2") ? 7471 : 0);
  }

  private static int errno(Executable call) {
    return assertThrows(VerbsException.class, call).errno();
  }

  @ParameterizedTest
  @CsvSource({
    "192.0.2.1, 2001:db8::2",
    "2001:db8::1, 192.0.2.2",
    "0.0.0.0, 2001:db8::2",
    "::, 192.0.2.2"
  })
  void addressesOfDifferentFamiliesAreInvalid(String source, String destination) {
    try (ConnectionId id = channel.createId(PortSpace.TCP)) {
      assertEquals(
          Errno.EINVAL,
          errno(() -> id.resolveAddress(address(source), address(destination), Await.LIMIT)));
    }
    try (ConnectionId bound = channel.createId(PortSpace.TCP)) {
      bound.bind(address(source));
      assertEquals(
          Errno.EINVAL, errno(() -> bound.resolveAddress(null, address(destination), Await.LIMIT)));
      bound.resolveAddress(null, address(peer(source)), Await.LIMIT);
    }
  }

  /** An address that an identifier which is bound to a source can resolve. */
  private static String peer(String source) {
    return source.contains(":") ? "2001:db8::2" : "192.0.2.2";
  }

  @ParameterizedTest
  @CsvSource({"0.0.0.0", "::", "127.0.0.1", "::1"})
  void aWildcardOrLoopbackDestinationHasNoRoute(String destination) throws Exception {
    try (ConnectionId id = channel.createId(PortSpace.TCP)) {
      id.resolveAddress(null, new InetSocketAddress(destination, 7471), Await.LIMIT);
      await(EventType.ADDR_RESOLVED, id);
      assertEquals(Errno.ENODEV, errno(() -> id.resolveRoute(Await.LIMIT)));
    }
  }

  @Test
  void anAddressCannotBeBoundWhenTheLastDeviceWasRemoved() {
    network.removeDevice("soft1");
    network.removeDevice("soft2");
    try (ConnectionId id = channel.createId(PortSpace.TCP)) {
      assertEquals(Errno.EADDRNOTAVAIL, errno(() -> id.bind(address("192.0.2.2"))));
    }
  }

  @Test
  void anIdentifierListensOnce() {
    try (ConnectionId id = channel.createId(PortSpace.TCP);
        ConnectionId other = channel.createId(PortSpace.TCP)) {
      id.bind(address("192.0.2.2"));
      id.listen(1);
      assertEquals(Errno.EINVAL, errno(() -> id.listen(1)));
      assertEquals(Errno.EADDRINUSE, errno(() -> other.bind(address("192.0.2.2"))));
    }
  }

  private void await(EventType type, ConnectionId id) throws Exception {
    ConnectionEvent event = channel.take();
    assertEquals(type, event.type(), id::toString);
  }

  @Test
  void privateDataThatIsTooLongIsInvalid() throws Exception {
    try (ConnectionId listener = channel.createId(PortSpace.TCP);
        ConnectionId client = channel.createId(PortSpace.TCP)) {
      listener.bind(address("192.0.2.2"));
      listener.listen(1);
      client.resolveAddress(null, address("192.0.2.2"), Await.LIMIT);
      await(EventType.ADDR_RESOLVED, client);
      client.resolveRoute(Await.LIMIT);
      await(EventType.ROUTE_RESOLVED, client);
      ConnectionParameters parameters = ConnectionParameters.DEFAULT.withQueuePairNumber(17);
      assertEquals(Errno.EINVAL, errno(() -> client.connect(parameters, new byte[57])));
      client.connect(parameters, new byte[56]);
      ConnectionEvent request = channel.take();
      try (ConnectionId server = request.id()) {
        assertEquals(Errno.EINVAL, errno(() -> server.reject(new byte[149])));
        // librdmacm rejects the request if the kernel does not accept it.
        assertEquals(Errno.EINVAL, errno(() -> server.accept(parameters, new byte[197])));
      }
      await(EventType.REJECTED, client);
    }
  }
}
