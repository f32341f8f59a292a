package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.RdmaException;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.RequestClient;
import dev.verbena.messages.RequestServer;
import dev.verbena.sockets.RdmaSockets;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** What happens to several objects at once happens in the same order in each run of a seed. */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class SimulatedOrderTest {
  private static final int OBJECTS = 6;
  private static final int RUNS = 4;

  private interface Program {
    void run(Simulation simulation, SoftHosts hosts) throws Exception;
  }

  private final Random random = new Random(42);
  private final List<Arena> kept = new ArrayList<>();

  @AfterEach
  void free() {
    kept.forEach(Arena::close);
  }

  /** Allocates memory and frees some of it, so that the objects of a run have other addresses. */
  private void fragment() {
    List<Arena> freed = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      Arena arena = Arena.ofConfined();
      MemorySegment _ = arena.allocate(1 + random.nextInt(1_000));
      (random.nextBoolean() ? freed : kept).add(arena);
    }
    Collections.shuffle(freed, random);
    freed.forEach(Arena::close);
  }

  private void assertSameInEachRun(Program program) {
    List<List<String>> runs = new ArrayList<>();
    for (int i = 0; i < RUNS; i++) {
      fragment();
      List<String> lines = new ArrayList<>();
      Simulation.run(
          1,
          simulation -> {
            try (SoftHosts hosts = SoftHosts.create()) {
              hosts
                  .network()
                  .trace(line -> lines.add(Thread.currentThread().getName() + " " + line));
              hosts.call(
                  () -> {
                    program.run(simulation, hosts);
                    return null;
                  });
              Simulation.sleep(Duration.ofMinutes(1));
            }
          });
      runs.add(lines);
    }
    for (List<String> lines : runs) {
      assertEquals(runs.getFirst(), lines);
    }
  }

  private static InetSocketAddress address(SoftHosts hosts) {
    return new InetSocketAddress(hosts.serverAddress(), 4711);
  }

  @Test
  void queuePairsGoOnWhenTheirHostIsResumed() {
    assertSameInEachRun(
        (simulation, hosts) -> {
          try (ProtectionDomain domain = hosts.clientContext().allocateProtectionDomain();
              ProtectionDomain remote = hosts.serverContext().allocateProtectionDomain();
              CompletionQueue queue = hosts.clientContext().createCompletionQueue(16);
              CompletionQueue other = hosts.serverContext().createCompletionQueue(16)) {
            List<QueuePair> pairs = new ArrayList<>();
            for (int i = 0; i < OBJECTS; i++) {
              QueuePair a = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
              QueuePair b = QueuePair.builder(remote, QueuePairType.RC).completions(other).create();
              a.connect(b.localAddress());
              b.connect(a.localAddress());
              pairs.addAll(List.of(a, b));
            }
            var _ = hosts.faults().stop("client");
            SendList sends = new SendList(1, 1);
            sends.send(0);
            for (int i = 0; i < pairs.size(); i += 2) {
              assertEquals(1, pairs.get(i).post(sends));
            }
            Simulation.sleep(Duration.ofMillis(1));
            var _ = hosts.faults().resume("client");
            Simulation.sleep(Duration.ofMillis(1));
            pairs.forEach(QueuePair::close);
          }
        });
  }

  @Test
  void connectionsEndWithTheirNetwork() {
    assertSameInEachRun(
        (simulation, hosts) -> {
          List<Connection> ends = new ArrayList<>();
          try (Listener listener = Listener.open(address(hosts))) {
            for (int i = 0; i < OBJECTS; i++) {
              Thread client =
                  simulation.actor("client", () -> ends.add(Connection.connect(address(hosts))));
              ends.add(Connection.accept(listener));
              client.join();
            }
          }
          hosts.network().close();
          ends.forEach(Connection::close);
        });
  }

  @Test
  void requestsForConnectionsEndWithTheirListener() {
    assertSameInEachRun(
        (simulation, hosts) -> {
          List<Thread> actors = new ArrayList<>();
          try (Listener listener = Listener.open(address(hosts))) {
            var _ = hosts.faults().delay(Duration.ofMillis(10));
            for (int i = 0; i < OBJECTS; i++) {
              actors.add(simulation.actor("client", () -> connect(hosts)));
            }
            actors.add(
                simulation.actor(
                    "server",
                    () ->
                        assertThrows(
                            IllegalStateException.class, () -> Connection.accept(listener))));
            Simulation.sleep(Duration.ofMillis(15)); // The replies are on their way.
          }
          for (Thread actor : actors) {
            actor.join();
          }
        });
  }

  private static void connect(SoftHosts hosts) throws InterruptedException {
    try (Connection client = Connection.connect(address(hosts))) {
      byte[] _ = client.receive();
    } catch (RdmaException e) {
      // Rejected.
    }
  }

  @Test
  void clientsEndWithTheirServer() {
    assertSameInEachRun(
        (simulation, hosts) -> {
          RequestServer server =
              RequestServer.builder(address(hosts), request -> request.answer(0))
                  .clients(OBJECTS)
                  .open();
          Thread running = simulation.actor("server", server::run);
          List<RequestClient> clients = new ArrayList<>();
          for (int i = 0; i < OBJECTS; i++) {
            clients.add(RequestClient.connect(address(hosts)));
          }
          server.close();
          running.join();
          clients.forEach(RequestClient::close);
        });
  }

  @Test
  void keysOfASelector() {
    assertSameInEachRun(
        (simulation, hosts) -> {
          List<SocketChannel> clients = new ArrayList<>();
          try (ServerSocketChannel server =
                  RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET);
              Selector selector = RdmaSockets.openSelector()) {
            server.bind(address(hosts));
            for (int i = 0; i < OBJECTS; i++) {
              SocketChannel client = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET);
              Thread accepting =
                  simulation.actor(
                      "accept",
                      () -> {
                        SocketChannel accepted = server.accept();
                        accepted.configureBlocking(false);
                        SelectionKey _ = accepted.register(selector, SelectionKey.OP_WRITE);
                      });
              boolean _ = client.connect(address(hosts));
              accepting.join();
              clients.add(client);
            }
            assertEquals(OBJECTS, selector.select());
            assertEquals(List.copyOf(selector.keys()), List.copyOf(selector.selectedKeys()));
            for (SelectionKey key : selector.keys()) {
              key.channel().close();
            }
            assertEquals(0, selector.selectNow());
          }
          for (SocketChannel client : clients) {
            client.close();
          }
        });
  }
}
