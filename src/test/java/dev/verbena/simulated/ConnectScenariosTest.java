package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.soft.CmRemains;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftHosts;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/**
 * Clients connect to a server again and again while packets are lost, hosts are killed, stopped or
 * separated, verbs fail, and both ends close or are interrupted at any moment. Each request for a
 * connection ends within its time, each end learns that the other has gone, and nothing of the
 * connections remains.
 */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class ConnectScenariosTest {
  /** For messages until the peer's device has acknowledged them or is given up, and for a close. */
  private static final Duration SLACK = Duration.ofSeconds(40);

  /** Longer than what follows the end of a connection: 16 answers are awaited, TIMEWAIT passes. */
  private static final Duration REST = Duration.ofMinutes(30);

  private static final Duration KEEP_ALIVE = Duration.ofSeconds(1);

  @Test
  void everyRequestEndsAndNothingRemains() {
    Simulation.check(Seeds.of(40), simulation -> new Scenario(simulation).run());
  }

  private static final Duration LIMIT = Duration.ofHours(1);

  private static final class Scenario {
    private final Simulation simulation;
    private final RandomGenerator random;
    private final SoftHosts hosts = SoftHosts.create();
    private final InetSocketAddress server;
    private final InetSocketAddress local =
        new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
    private final List<Thread> clients = new ArrayList<>();
    private final List<Thread> served = new ArrayList<>();
    private final boolean acceptsItself;
    private final boolean mayFail;
    private boolean isOver;
    private Listener listener;

    private boolean isEnded;

    Scenario(Simulation simulation) {
      this.simulation = simulation;
      this.random = simulation.random();
      server = new InetSocketAddress(hosts.serverAddress(), 4711);
      acceptsItself = random.nextBoolean();
      mayFail = random.nextBoolean();
    }

    void run() throws Exception {
      try (hosts) {
        if (random.nextInt(4) > 0) {
          var _ = hosts.faults().vary(random);
        }
        ScenarioLimit.start(simulation, LIMIT, () -> isEnded);
        hosts.call(
            () -> {
              connectAndDisturb();
              return null;
            });
        isEnded = true;
        var _ = hosts.faults().none();
        Simulation.sleep(REST);
        assertEquals(List.of(), CmRemains.of(hosts.network()));
      }
    }

    private void connectAndDisturb() throws InterruptedException {
      Thread serving = simulation.actor("server", this::serve);
      int count = 1 + random.nextInt(random.nextInt(5) == 0 ? 30 : 3);
      for (int i = 0; i < count; i++) {
        clients.add(simulation.actor("client " + i, this::connectOften));
      }
      Thread disturbing = simulation.actor("disturbance", this::disturb);
      for (Thread client : clients) {
        client.join();
      }
      isOver = true;
      disturbing.join();
      var _ = hosts.faults().none();
      serving.interrupt();
      serving.join();
      while (!served.isEmpty()) {
        served.removeLast().join();
      }
    }

    // The server

    private void serve() throws InterruptedException {
      while (!isOver) {
        try (Listener opened = Listener.open(PortSpace.TCP, server, random.nextInt(4))) {
          listener = opened;
          while (!isOver) {
            serveNext(opened);
          }
        } catch (RdmaException e) { // The host is dead, or a verb has failed.
          pauseOnce(100);
        } catch (IllegalStateException e) {
          assertTrue(e.getMessage().contains("closed"), e::toString);
        } catch (InterruptedException e) {
          assertTrue(isOver, "interrupted by nobody");
        }
      }
    }

    private void serveNext(Listener opened) throws InterruptedException {
      ConnectionSettings settings = settings(Duration.ofSeconds(5)).withKeepAlive(KEEP_ALIVE);
      if (acceptsItself) {
        Endpoint request = opened.take();
        served.add(simulation.actor("request", () -> answer(request, settings)));
        return;
      }
      try {
        Connection accepted = Connection.accept(opened, settings);
        served.add(simulation.actor("served", () -> echo(accepted)));
      } catch (ConnectionException e) {
        if (e.event().type() == EventType.DEVICE_REMOVAL) {
          throw e;
        }
      } catch (RdmaException e) {
        pauseOnce(10);
      }
    }

    private void answer(Endpoint request, ConnectionSettings settings) throws Exception {
      try (request) {
        if (random.nextInt(4) == 0) {
          pause(random.nextInt(10_000));
        }
        switch (random.nextInt(6)) {
          case 0 -> request.id().reject();
          case 1 -> {} // Closing rejects it.
          default -> echo(Connection.accept(request, settings));
        }
      } catch (RdmaException e) {
        // The client learns it, or does not wait any more.
      }
    }

    /** Answers messages until the client has gone, which ends this: else the run does not end. */
    private void echo(Connection client) throws InterruptedException {
      try (client) {
        int most = random.nextInt(5) == 0 ? random.nextInt(3) : Integer.MAX_VALUE;
        for (int i = 0; i < most; i++) {
          byte[] message = client.receive();
          if (message == null) {
            return;
          }
          client.send(message);
        }
      } catch (RdmaException e) {
        // The client, its host or this one was lost.
      }
    }

    // The clients

    private ConnectionSettings settings(Duration timeout) {
      return ConnectionSettings.DEFAULT
          .withReceives(2)
          .withSends(2)
          .withMessageSize(64)
          .withTimeout(timeout);
    }

    private void connectOften() throws InterruptedException {
      int count = 1 + random.nextInt(4);
      for (int i = 0; i < count; i++) {
        try {
          connectOnce();
        } catch (InterruptedException e) {
          // By the disturbance.
        }
        if (random.nextBoolean()) {
          pauseOnce(random.nextInt(500));
        }
      }
    }

    private void connectOnce() throws InterruptedException {
      Duration timeout =
          random.nextBoolean() ? Duration.ofSeconds(20) : Duration.ofMillis(random.nextInt(2_000));
      ConnectionSettings settings = settings(timeout).withLocalAddress(local);
      if (random.nextBoolean()) {
        settings = settings.withKeepAlive(KEEP_ALIVE);
      }
      Duration start = simulation.now();
      Connection connected;
      try {
        connected = Connection.connect(server, settings);
      } catch (RdmaException e) {
        return;
      } finally {
        requireWithin(timeout, start, "connecting");
      }
      start = simulation.now();
      try (connected) {
        connected.setTimeout(Duration.ofSeconds(10));
        use(connected);
      } catch (RdmaException e) {
        // The server has closed the connection, or was lost.
      } finally {
        requireWithin(Duration.ofMinutes(1), start, "using a connection");
      }
    }

    private void use(Connection connected) throws InterruptedException {
      int exchanges = random.nextInt(3);
      for (int i = 0; i < exchanges; i++) {
        byte[] message = new byte[random.nextInt(64)];
        random.nextBytes(message);
        connected.send(message);
        byte[] answer = connected.receive(Duration.ofSeconds(10));
        if (answer == null) {
          return;
        }
        assertArrayEquals(message, answer);
      }
      if (random.nextInt(4) == 0) {
        pause(random.nextInt(3_000));
      }
    }

    private void requireWithin(Duration timeout, Duration start, String doing) {
      Duration took = simulation.now().minus(start);
      assertTrue(
          took.compareTo(timeout.plus(SLACK)) <= 0, () -> doing + " took " + took + ", " + timeout);
    }

    // What disturbs them

    private void disturb() throws InterruptedException {
      int count = random.nextInt(8);
      for (int i = 0; i < count && !isOver; i++) {
        pause(random.nextInt(random.nextBoolean() ? 20 : 2_000));
        String host = random.nextBoolean() ? "client" : "server";
        switch (random.nextInt(8)) {
          case 0, 1 -> {
            var _ = hosts.faults().disturb(random, Duration.ofSeconds(10));
          }
          case 2 -> {
            var _ = hosts.faults().kill(host);
            pause(random.nextInt(1_000));
            hosts.restart(host);
          }
          case 3, 4 -> clients.get(random.nextInt(clients.size())).interrupt();
          case 5 -> {
            if (listener != null) {
              listener.close();
            }
          }
          case 6 -> {
            if (listener != null) {
              listener.stop();
            }
          }
          default -> {
            if (mayFail) {
              failOneCall();
            }
          }
        }
      }
    }

    private void failOneCall() {
      String[] functions = {
        "ibv_create_comp_channel",
        "rdma_create_qp",
        "ibv_reg_mr",
        "rdma_accept",
        "rdma_connect",
        "rdma_create_event_channel",
        "rdma_create_id",
        "rdma_migrate_id",
        "rdma_resolve_route"
      };
      int errno = dev.verbena.Errno.ENOMEM;
      var _ =
          hosts
              .faults()
              .fail(functions[random.nextInt(functions.length)], 1 + random.nextInt(5), errno);
    }

    private static void pause(int milliseconds) throws InterruptedException {
      Simulation.sleep(Duration.ofMillis(milliseconds));
    }

    private static void pauseOnce(int milliseconds) {
      try {
        pause(milliseconds);
      } catch (InterruptedException e) {
        // By the disturbance.
      }
    }
  }
}
