package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Contexts;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.internal.time.Time;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.soft.device.Registry;
import dev.verbena.testing.Await;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

@Tag("host")
class SoftHostsTest {
  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static Void exchange() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.client().send(bytes("question"));
      assertArrayEquals(bytes("question"), hosts.server().receive());
      hosts.server().send(bytes("answer"));
      assertArrayEquals(bytes("answer"), hosts.client().receive());
    }
    return null;
  }

  /** The property is that of the JVM: in one of its own, so that no other test sees it. */
  static final class WithProperty {
    private WithProperty() {}

    /** Prints the seed, or what is wrong with the property. */
    public static void main(String[] args) {
      try (SoftHosts hosts = SoftHosts.create()) {
        boolean strict = hosts.network().engine.locked(() -> hosts.faults().delays().isOn());
        System.out.println("strict: " + strict + ", seed " + hosts.faults().seed());
      } catch (IllegalArgumentException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  @Test
  void hostsAreStrictByASystemProperty() {
    assertEquals("strict: true, seed 42", printedWith("42"));
    String wrong = printedWith("yes");
    assertTrue(wrong.contains("dev.verbena.soft.strict") && wrong.contains("yes"), wrong);
  }

  private static String printedWith(String value) {
    return new ForkedJvm()
        .withNativeAccess()
        .with("-Ddev.verbena.soft.strict=" + value)
        .run(WithProperty.class)
        .succeeded()
        .strip();
  }

  @Test
  void connectionCarriesMessagesInBothDirections() throws Exception {
    exchange();
  }

  /** Each round interrupts at another moment of the time that connecting takes. */
  @Test
  @InSimulation
  void anInterruptWhileTheHostsConnectLeavesNothingOpen() throws Exception {
    int rounds = 40;
    long duration = interrupted(Long.MAX_VALUE);
    for (int round = 0; round < rounds; round++) {
      duration = Math.max(duration, interrupted(duration * round / rounds));
    }
  }

  /** Interrupts a thread that connects after some time, and returns how long connecting took. */
  private static long interrupted(long nanos) throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.faults().delay(Duration.ofMillis(1)); // Otherwise most of the time is none of waits.
      Thread connecting =
          Time.daemon()
              .start(
                  () -> {
                    try {
                      var _ = hosts.client();
                    } catch (InterruptedException | RuntimeException e) {
                      // Nothing is open then: closing the hosts shows it.
                    }
                  });
      long start = Time.now();
      while (Time.now() - start < nanos && connecting.isAlive()) {
        Time.pause();
      }
      long duration = Time.now() - start;
      connecting.interrupt();
      connecting.join();
      assertNotNull(hosts.server());
      return duration;
    }
  }

  /** The request is on its way when its sender gives up, and arrives at the next listener. */
  @Test
  @InSimulation
  void abandonedRequestThatArrivesLateDoesNotPreventTheNextConnection() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.faults().delay(Duration.ofMillis(300));
      FutureTask<Connection> abandoned = new FutureTask<>(hosts::client);
      Thread connecting = Time.daemon().start(abandoned);
      Await.until(
          "a request for a connection",
          () ->
              switch (connecting.getState()) {
                case WAITING, TIMED_WAITING -> calls(connecting, "connect");
                default -> false;
              });
      connecting.interrupt();
      assertInstanceOf(
          InterruptedException.class,
          assertThrows(ExecutionException.class, abandoned::get).getCause());
      hosts.client().send(bytes("question"));
      assertArrayEquals(bytes("question"), hosts.server().receive());
    }
  }

  private static boolean calls(Thread thread, String method) {
    return Stream.of(thread.getStackTrace())
        .anyMatch(
            frame ->
                frame.getClassName().equals(Endpoint.class.getName())
                    && frame.getMethodName().equals(method));
  }

  @Test
  @EnabledForJreRange(minVersion = 24)
  void connectingEndsInTime() {
    Simulation.run(
        0,
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            hosts.faults().partition("client", "server");
            Duration timeout = ConnectionSettings.DEFAULT.timeout();
            RdmaTimeoutException e = assertThrows(RdmaTimeoutException.class, hosts::client);
            assertEquals(timeout, e.timeout());
            assertTrue(simulation.now().minus(timeout).toSeconds() < 1, simulation.now()::toString);
            hosts.faults().heal();
            hosts.client().send(bytes("question"));
            assertArrayEquals(bytes("question"), hosts.server().receive());
          }
        });
  }

  /** RDMA CM opens the devices itself; each context has a file descriptor. */
  @Test
  void closedHostsLeaveNoObjectBehind() throws Exception {
    SoftHosts hosts = SoftHosts.create();
    hosts.client().send(bytes("question"));
    List<Context> ofRdmaCm = hosts.call(Contexts::list);
    hosts.close();
    assertEquals(List.of(), Registry.of(hosts.network().fabric));
    // Otherwise a thread goes on waiting for events on a file descriptor that is closed.
    ofRdmaCm.forEach(context -> assertFalse(context.isOpen(), context::toString));
  }

  @Test
  void objectsClosedAfterTheirNetworkLeaveNothingBehind() throws Exception {
    SoftNetwork network = SoftNetwork.of("2");
    Listener listener = network.call(() -> Listener.open(new InetSocketAddress("192.0.2.1", 4791)));
    network.close();
    listener.close();
    assertEquals(List.of(), Registry.of(network.fabric));

    SoftHosts hosts = SoftHosts.create();
    hosts.client().send(bytes("question"));
    hosts.network().close();
    hosts.close();
    assertEquals(List.of(), Registry.of(hosts.network().fabric));
  }

  @Test
  void contextsAreOnDifferentDevices() {
    try (SoftHosts hosts = SoftHosts.create()) {
      assertNotEquals(hosts.clientContext().device(), hosts.serverContext().device());
    }
  }

  @Test
  void endOfTheConnectionIsSeen() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection server = hosts.server();
      hosts.client().close();
      assertNull(server.receive());
    }
  }

  /** Queue pairs may be in state ERR before the event is read that says why. */
  @Test
  void flushedReceiveReportsTheEndThatFollows() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection server = hosts.server();
      FutureTask<byte[]> receiving = new FutureTask<>(server::receive);
      Thread.ofVirtual().start(receiving);
      server.endpoint().id().queuePair().orElseThrow().fail();
      Await.pass(Duration.ofMillis(200), "an end at once would be found without waiting for it");
      hosts.client().endpoint().disconnect(Await.LIMIT);
      var thrown = assertThrows(ExecutionException.class, receiving::get);
      assertEquals(
          EventType.DISCONNECTED,
          assertInstanceOf(ConnectionException.class, thrown.getCause()).event().type());
    }
  }

  @Test
  void codeUnderTestSeesTheDevicesOfTheHosts() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      List<String> names = hosts.call(() -> Device.list().stream().map(Device::name).toList());
      assertEquals(List.of("client", "server"), names);
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), 4711);
      byte[] received =
          hosts.call(
              () -> {
                try (Listener listener = Listener.open(address)) {
                  Thread peer =
                      Thread.ofVirtual()
                          .start(
                              () -> {
                                try (Connection client = Connection.connect(address)) {
                                  client.send(bytes("hello"));
                                } catch (InterruptedException e) {
                                  throw new IllegalStateException(e);
                                }
                              });
                  try (Connection server = Connection.accept(listener)) {
                    byte[] message = server.receive();
                    peer.join();
                    return message;
                  }
                }
              });
      assertArrayEquals(bytes("hello"), received);
    }
  }

  @Test
  void codeOutsideOfCallDoesNotSeeTheDevices() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.call(Device::list);
      List<Device> outside;
      try {
        outside = Device.list();
      } catch (VerbsException e) {
        outside = List.of(); // No RDMA on this machine.
      }
      assertTrue(outside.stream().noneMatch(device -> device.name().equals("client")));
    }
  }

  @Test
  void whatATestLeavesOpenIsReported() throws Exception {
    SoftHosts hosts = SoftHosts.create();
    Context context = hosts.clientContext().device().open();
    var domain = context.allocateProtectionDomain();
    domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
    EventChannel channel = hosts.call(EventChannel::open);
    assertEquals(
        Map.of("context", 3, "event channel", 1, "memory region", 1, "protection domain", 1),
        hosts.network().openObjects());
    IllegalStateException leak = assertThrows(IllegalStateException.class, hosts::close);
    assertEquals(
        "not closed: {context=1, event channel=1, memory region=1, protection domain=1}",
        leak.getMessage());
    context.close();
    channel.close();
    assertEquals(Map.of(), hosts.network().openObjects());
  }

  @Test
  void hostsOfParallelTestsAreIndependent() throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Void>> tests = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        tests.add(threads.submit(SoftHostsTest::exchange));
      }
      for (Future<Void> each : tests) {
        each.get();
      }
    }
  }
}
