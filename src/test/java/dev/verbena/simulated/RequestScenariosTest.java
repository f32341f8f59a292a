package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.messages.Answering;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.messages.RequestClient;
import dev.verbena.messages.RequestServer;
import dev.verbena.soft.CmRemains;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftHosts;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** Requests and their answers, in a simulation. */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class RequestScenariosTest {
  private static final int LARGEST = 10_000;

  @Test
  void eachCallHasItsAnswerAndLeavesItsPlace() {
    Simulation.check(Seeds.of(40), simulation -> new RequestScenario(simulation).run());
  }

  /** What a client has sent may complete at the server after the client has gone. */
  @Test
  void clientsThatCloseTakeNoReceiveRequestsWithThem() {
    Simulation.check(
        Seeds.of(10),
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            var _ = hosts.faults().strict();
            hosts.call(
                () -> {
                  closeWithCallsUnderWay(simulation, hosts);
                  return null;
                });
          }
        });
  }

  private static void closeWithCallsUnderWay(Simulation simulation, SoftHosts hosts)
      throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), 4711);
    ConnectionSettings settings = ConnectionSettings.DEFAULT.withSends(2);
    CountDownLatch areAllUnderWay = new CountDownLatch(4);
    Answering handler =
        (request, answer) -> {
          if (request.byteSize() > 0) {
            areAllUnderWay.countDown();
            areAllUnderWay.await();
          }
          return 0;
        };
    try (RequestServer server =
        RequestServer.builder(address, Answering.by(handler))
            .settings(settings)
            .clients(2)
            .executor(code -> Thread.ofVirtual().start(code))
            .open()) {
      Thread _ = simulation.actor("server", server::run);
      try (RequestClient other = RequestClient.connect(address, settings)) {
        boolean[] isEnding = {false};
        Thread calling =
            simulation.actor(
                "other client",
                () -> {
                  while (!isEnding[0]) {
                    assertEquals(0, other.call(new byte[0], Duration.ofMinutes(1)).length);
                  }
                });
        for (int i = 0; i < 20; i++) {
          try (RequestClient client = connectWhenThereIsAPlace(address, settings)) {
            var _ = submitAll(client, new byte[0]);
            Simulation.sleep(Duration.ofNanos(simulation.random().nextInt(20_000)));
          }
        }
        isEnding[0] = true;
        calling.join();
        try (RequestClient client = connectWhenThereIsAPlace(address, settings)) {
          List<CompletableFuture<byte[]>> answers = submitAll(client, new byte[1]);
          answers.addAll(submitAll(other, new byte[1]));
          for (CompletableFuture<byte[]> answer : answers) {
            assertEquals(0, answer.get().length);
          }
        }
      }
    }
  }

  /** A server is closed and opened again at any moment, over a network that loses packets. */
  @Test
  void idempotentCallsAreAnsweredByTheServerThatIsOpenedAgain() {
    Simulation.check(
        Seeds.of(10),
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            var _ = hosts.faults().vary(simulation.random());
            hosts.call(
                () -> {
                  callAServerThatIsOpenedAgain(simulation, hosts);
                  return null;
                });
            var _ = hosts.faults().none();
            Simulation.sleep(Duration.ofMinutes(30));
            assertEquals(List.of(), CmRemains.of(hosts.network()));
          }
        });
  }

  private static void callAServerThatIsOpenedAgain(Simulation simulation, SoftHosts hosts)
      throws InterruptedException {
    RandomGenerator random = simulation.random();
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), 4711);
    ConnectionSettings settings =
        ConnectionSettings.DEFAULT
            .withSends(1 + random.nextInt(3))
            .withMessageSize(64)
            .withTimeout(Duration.ofSeconds(20))
            .withKeepAlive(Duration.ofSeconds(1))
            .withReconnect(Duration.ofMillis(10), Duration.ofMillis(500))
            .withRepeats();
    RequestServer[] server = {echo(simulation, address, settings)};
    List<Thread> callers = new ArrayList<>();
    List<RequestClient> clients = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      if (i % 2 == 0) {
        clients.add(connectWhenThereIsAPlace(address, settings));
      }
      RequestClient client = clients.getLast();
      callers.add(simulation.actor("caller", () -> callTwentyTimes(simulation, client)));
    }
    for (int i = 0; i < 5; i++) {
      Simulation.sleep(Duration.ofMillis(random.nextInt(500)));
      server[0].close();
      Simulation.sleep(Duration.ofMillis(random.nextInt(300)));
      server[0] = echo(simulation, address, settings);
    }
    for (Thread caller : callers) {
      caller.join();
    }
    clients.forEach(RequestClient::close);
    server[0].close();
  }

  private static RequestServer echo(
      Simulation simulation, InetSocketAddress address, ConnectionSettings settings) {
    RequestServer server =
        RequestServer.builder(address, request -> request.answer(request.bytes()))
            .settings(settings)
            .open();
    Thread _ = simulation.actor("server", server::run);
    return server;
  }

  private static void callTwentyTimes(Simulation simulation, RequestClient client)
      throws InterruptedException {
    for (int i = 0; i < 20; i++) {
      byte[] request = new byte[1 + simulation.random().nextInt(i % 4 == 0 ? LARGEST : 64)];
      request[request.length - 1] = (byte) i;
      byte[] answer = new byte[request.length];
      long length =
          client.call(
              MemorySegment.ofArray(request),
              MemorySegment.ofArray(answer),
              Duration.ofMinutes(10));
      assertEquals(request.length, length);
      assertArrayEquals(request, answer);
      Simulation.sleep(Duration.ofMillis(simulation.random().nextInt(100)));
    }
  }

  /** Memory may be free for a request when the last completion of its client is under way. */
  @Test
  void clientsThatCloseTakeNoMemoryWithThem() {
    Simulation.check(
        Seeds.of(3),
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            hosts.call(
                () -> {
                  closeWithLargeCallsUnderWay(simulation, hosts);
                  return null;
                });
          }
        });
  }

  private static void closeWithLargeCallsUnderWay(Simulation simulation, SoftHosts hosts)
      throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), 4711);
    ConnectionSettings settings = ConnectionSettings.DEFAULT.withSends(4);
    RandomGenerator random = simulation.random();
    byte[] large = new byte[LARGEST];
    try (RequestServer server =
        RequestServer.builder(
                address,
                request -> {
                  Simulation.sleep(Duration.ofNanos(random.nextInt(20_000)));
                  request.answer(0);
                })
            .settings(settings.withCopies(1))
            .largest(LARGEST)
            .clients(3)
            .executor(code -> Thread.ofVirtual().start(code))
            .open()) {
      Thread _ = simulation.actor("server", server::run);
      try (RequestClient other = RequestClient.connect(address, settings)) {
        boolean[] isEnding = {false};
        Thread calling =
            simulation.actor(
                "other client",
                () -> {
                  while (!isEnding[0]) {
                    assertEquals(0, other.call(large, Duration.ofMinutes(1)).length);
                  }
                });
        for (int i = 0; i < 40; i++) {
          try (RequestClient client = connectWhenThereIsAPlace(address, settings)) {
            var _ = submitAll(client, large);
            Simulation.sleep(Duration.ofNanos(random.nextInt(100_000)));
          }
        }
        isEnding[0] = true;
        calling.join();
        for (CompletableFuture<byte[]> answer : submitAll(other, large)) {
          assertEquals(0, answer.get().length);
        }
      }
    }
  }

  @Test
  void aServerWhoseDeviceIsRemovedCloses() {
    Simulation.check(
        Seeds.of(20),
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            var _ = hosts.faults().strict();
            hosts.call(
                () -> {
                  removeDeviceWithCallsUnderWay(simulation, hosts);
                  return null;
                });
          }
        });
  }

  private static void removeDeviceWithCallsUnderWay(Simulation simulation, SoftHosts hosts)
      throws Exception {
    RandomGenerator random = simulation.random();
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), 4711);
    ConnectionSettings settings = ConnectionSettings.DEFAULT.withSends(1 + random.nextInt(4));
    RequestServer server =
        RequestServer.builder(
                address,
                request -> {
                  Simulation.sleep(Duration.ofNanos(random.nextInt(200_000)));
                  request.answer(0);
                })
            .settings(settings)
            .clients(2)
            .open();
    Thread serving =
        simulation.actor(
            "server",
            () -> {
              try {
                server.run();
              } catch (ConnectionException e) {
                // The device was removed.
              }
            });
    try (RequestClient one = RequestClient.connect(address, settings);
        RequestClient other = RequestClient.connect(address, settings)) {
      var _ = submitAll(one, new byte[1]);
      var _ = submitAll(other, new byte[1]);
      Simulation.sleep(Duration.ofNanos(random.nextInt(60_000)));
      hosts.network().removeDevice("server");
      Duration start = simulation.now();
      server.close();
      assertTrue(simulation.now().minus(start).compareTo(Duration.ofSeconds(1)) < 0);
    }
    serving.join();
  }

  private static RequestClient connectWhenThereIsAPlace(
      InetSocketAddress address, ConnectionSettings settings) throws InterruptedException {
    while (true) {
      try {
        return RequestClient.connect(address, settings);
      } catch (ConnectionException e) {
        Simulation.sleep(Duration.ofMillis(1));
      }
    }
  }

  /** Submits as many requests as may be under way. */
  private static List<CompletableFuture<byte[]>> submitAll(RequestClient client, byte[] request)
      throws InterruptedException {
    List<CompletableFuture<byte[]>> answers = new ArrayList<>();
    for (int i = 0; i < client.limit(); i++) {
      answers.add(client.submit(request, Duration.ofMinutes(1)));
    }
    return answers;
  }
}
