package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.PortSpace;
import dev.verbena.simulated.TrackedId.Request;
import dev.verbena.soft.CmRemains;
import dev.verbena.soft.Faults;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.values.QueuePairCapacity;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/**
 * Identifiers of RDMA CM whose events some threads read from some channels: they resolve addresses
 * and routes, connect, accept, reject and disconnect, while they migrate between the channels, are
 * closed at any moment, and devices are removed or do not answer.
 */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class IdentifierScenariosTest {
  private static final Duration LIMIT = Duration.ofHours(1);

  /** Longer than a request of RDMA CM takes: 16 answers are awaited, and hosts stop meanwhile. */
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  /** Longer than what follows the end of a connection. */
  private static final Duration REST = Duration.ofMinutes(30);

  /** How probable the loss of a message is that RDMA CM makes good. */
  private static final double LITTLE = 0.1;

  private static final QueuePairCapacity CAPACITY = QueuePairCapacity.of(1);

  @Test
  void everyRequestEndsInOneEventAndNothingRemains() {
    Simulation.check(Seeds.of(40), simulation -> new Scenario(simulation).run());
  }

  private static final class Scenario {
    private final Simulation simulation;
    private final RandomGenerator random;
    private final SoftHosts hosts = SoftHosts.create();
    private final InetSocketAddress server = new InetSocketAddress(hosts.serverAddress(), 4711);
    private final List<EventChannel> channels = new ArrayList<>();
    private final Map<ConnectionId, TrackedId> ids = new HashMap<>();
    private final List<TrackedId> clients = new ArrayList<>();
    private final List<Thread> others = new ArrayList<>();
    private final PortSpace portSpace;

    /** Nothing disturbs the connections: all requests succeed, or are rejected by the server. */
    private final boolean isCalm;

    /** Whether the device of the server was removed. */
    private boolean wasRemoved;

    private TrackedId listening;
    private boolean isOver;
    private boolean isEnded;

    Scenario(Simulation simulation) {
      this.simulation = simulation;
      this.random = simulation.random();
      portSpace = random.nextInt(4) == 0 ? PortSpace.UDP : PortSpace.TCP;
      isCalm = random.nextInt(4) == 0;
    }

    void run() throws Exception {
      try (hosts) {
        Faults faults = hosts.faults();
        if (!isCalm) {
          Faults _ = faults.vary(random);
        } else if (random.nextBoolean()) {
          Faults _ = faults.seed(random.nextLong()).loss(LITTLE).duplicate(LITTLE);
        }
        ScenarioLimit.start(simulation, LIMIT, () -> isEnded);
        hosts.call(
            () -> {
              connectAndDisturb();
              return null;
            });
        isEnded = true;
        Faults _ = hosts.faults().none();
        Simulation.sleep(REST);
        assertEquals(List.of(), CmRemains.of(hosts.network()));
      }
    }

    private void connectAndDisturb() throws InterruptedException {
      List<Thread> readers = new ArrayList<>();
      for (int i = random.nextInt(3); i >= 0; i--) {
        EventChannel channel = EventChannel.open();
        channels.add(channel);
        for (int j = random.nextInt(3); j >= 0; j--) {
          readers.add(simulation.actor("reader", () -> read(channel)));
        }
      }
      Thread serving = simulation.actor("server", this::listen);
      List<Thread> connecting = new ArrayList<>();
      for (int i = random.nextInt(4); i >= 0; i--) {
        connecting.add(simulation.actor("client", this::connectOften));
      }
      Thread disturbing = simulation.actor("disturbance", this::disturb);
      for (Thread client : connecting) {
        client.join();
      }
      isOver = true;
      disturbing.join();
      serving.join();
      while (!others.isEmpty()) {
        others.removeLast().join();
      }
      for (EventChannel channel : channels) {
        channel.close(); // With the identifiers that are left.
      }
      for (Thread reader : readers) {
        reader.join();
      }
    }

    private EventChannel anyChannel() {
      return channels.get(random.nextInt(channels.size()));
    }

    private void pause(int mostMillis) throws InterruptedException {
      Simulation.sleep(Duration.ofNanos(1 + random.nextLong(mostMillis * 1_000_000L)));
    }

    private void await(String complaint, TrackedId id, BooleanSupplier isAwaited)
        throws InterruptedException {
      Duration begin = simulation.now();
      while (isAwaited.getAsBoolean()) {
        Duration waited = simulation.now().minus(begin);
        assertTrue(waited.compareTo(PATIENCE) < 0, () -> complaint + ": " + id);
        Simulation.sleep(Duration.ofMillis(1).plus(waited.dividedBy(4)));
      }
    }

    // Events

    private void read(EventChannel channel) throws InterruptedException {
      boolean waits = random.nextBoolean();
      boolean isSlow = random.nextBoolean();
      try {
        while (true) {
          ConnectionEvent event =
              waits ? channel.take() : channel.poll(Duration.ofMillis(random.nextInt(200)));
          if (event != null) {
            received(event);
            if (isSlow) {
              pause(100);
            }
          }
        }
      } catch (IllegalStateException e) {
        assertTrue(isOver && e.getMessage().contains("closed"), e::toString);
      }
    }

    private void received(ConnectionEvent event) {
      if (event.type() != EventType.CONNECT_REQUEST) {
        ids.get(event.id()).received(event);
        return;
      }
      TrackedId listener = ids.get(event.listener().orElseThrow());
      assertFalse(listener.isClosed(), "a request for a closed listener");
      TrackedId client = clients.get(ByteBuffer.wrap(event.privateData()).getInt() - 1);
      assertTrue(TrackedId.has(List.of(client.question), event), event::toString);
      TrackedId request = new TrackedId(event.id(), client);
      request.arrived(!wasRemoved);
      ids.put(event.id(), request);
      others.add(simulation.actor("request", () -> serve(request)));
    }

    /** Closes an identifier, after which it has no events. */
    private void close(TrackedId id) {
      if (id.beginClosing()) {
        id.id.close();
        id.closed();
      }
    }

    private TrackedId track(ConnectionId id) {
      TrackedId tracked = new TrackedId(id, null);
      ids.put(id, tracked);
      return tracked;
    }

    /** Calls what is refused when the identifier was closed, or its device removed. */
    private boolean attempt(TrackedId id, Request request, Runnable call) {
      id.begin(request);
      return attempt(id, call) || id.refused(request);
    }

    private boolean attempt(TrackedId id, Runnable call) {
      try {
        call.run();
        return true;
      } catch (RdmaException | IllegalStateException e) {
        assertFalse(isCalm, () -> id + ": " + e);
        return false;
      }
    }

    // The server

    private void listen() throws InterruptedException {
      while (!isOver) {
        TrackedId listener = track(anyChannel().createId(portSpace));
        listening = listener;
        if (attempt(listener, () -> listener.id.bind(server))
            && attempt(listener, () -> listener.id.listen(random.nextInt(4)))) {
          while (!isOver && listener.isUsable()) {
            pause(100);
          }
        }
        close(listener);
        pause(100);
      }
    }

    private void serve(TrackedId request) throws InterruptedException {
      if (random.nextInt(4) == 0) {
        pause(10_000);
      }
      int choice = random.nextInt(8);
      byte[] answer = new byte[random.nextInt(100)];
      random.nextBytes(answer);
      if (choice == 0) {
        request.answer(answer, false);
        attempt(request, () -> request.id.reject(answer));
      } else if (choice > 1
          && attempt(request, () -> request.id.queues().createQueuePair(CAPACITY))) {
        request.answer(answer, true);
        if (portSpace == PortSpace.UDP) {
          attempt(request, () -> request.id.accept(ConnectionParameters.DEFAULT, answer));
        } else {
          accept(request, answer);
        }
      }
      close(request);
    }

    private void accept(TrackedId request, byte[] answer) throws InterruptedException {
      if (!attempt(
          request,
          Request.CONNECTION,
          () -> request.id.accept(ConnectionParameters.DEFAULT, answer))) {
        return;
      }
      await("accepting", request, () -> request.isPending(Request.CONNECTION));
      assertFalse(
          isCalm && request.has(EventType.UNREACHABLE) && request.client.isEstablished(),
          "the client is connected");
      boolean isPatient = random.nextBoolean();
      for (int i = 0; i < 20 && isPatient && request.isEstablished(); i++) {
        pause(100);
      }
      disconnect(request);
    }

    // The clients

    private void connectOften() throws InterruptedException {
      for (int i = random.nextInt(3); i >= 0; i--) {
        TrackedId id = track(anyChannel().createId(portSpace));
        clients.add(id);
        int number = clients.size();
        Thread migrating =
            random.nextBoolean() ? null : simulation.actor("migration", () -> migrate(id));
        Thread closing =
            isCalm || random.nextInt(3) > 0
                ? null
                : simulation.actor(
                    "close",
                    () -> {
                      pause(random.nextBoolean() ? 2 : 5_000);
                      close(id);
                    });
        if (resolve(id)) {
          connect(id, number);
        }
        close(id);
        for (Thread other : new Thread[] {migrating, closing}) {
          if (other != null) {
            other.join();
          }
        }
        pause(100);
      }
    }

    private void migrate(TrackedId id) throws InterruptedException {
      for (int i = 0; i < 10 && id.isUsable(); i++) {
        pause(random.nextBoolean() ? 1 : 200);
        for (int j = random.nextInt(4); j > 0 && id.isUsable(); j--) {
          attempt(id, id::writeEvent);
        }
        if (id.isUsable()) {
          migrateOnce(id, anyChannel());
        }
      }
    }

    private void migrateOnce(TrackedId id, EventChannel target) {
      try {
        id.id.migrate(target);
      } catch (IllegalStateException e) {
        assertTrue(!id.isUsable(), e::toString);
      }
    }

    private boolean resolve(TrackedId id) throws InterruptedException {
      Duration timeout = Duration.ofMillis(1 + random.nextInt(2_000));
      if (attempt(id, Request.ADDRESS, () -> id.id.resolveAddress(null, server, timeout))) {
        await("resolving the address", id, () -> id.isPending(Request.ADDRESS));
      }
      if (id.isUsable()
          && id.has(EventType.ADDR_RESOLVED)
          && attempt(id, Request.ROUTE, () -> id.id.resolveRoute(timeout))) {
        await("resolving the route", id, () -> id.isPending(Request.ROUTE));
      }
      return id.isUsable() && id.has(EventType.ROUTE_RESOLVED);
    }

    private void connect(TrackedId id, int number) throws InterruptedException {
      byte[] question = new byte[4 + random.nextInt(52)];
      random.nextBytes(question);
      id.question = ByteBuffer.wrap(question).putInt(0, number).array();
      if (!attempt(id, () -> id.id.queues().createQueuePair(CAPACITY))
          || !attempt(
              id,
              Request.CONNECTION,
              () -> id.id.connect(ConnectionParameters.DEFAULT, question))) {
        return;
      }
      await("connecting", id, () -> id.isPending(Request.CONNECTION));
      assertTrue(!isCalm || id.isEnded(), () -> "no answer: " + id);
      if (random.nextBoolean()) {
        pause(random.nextInt(4) == 0 ? 10_000 : 1_000);
      }
      if (portSpace == PortSpace.TCP) {
        disconnect(id);
      }
      await("user events", id, id::lacksUserEvents);
    }

    /** Both ends disconnect. */
    private void disconnect(TrackedId id) throws InterruptedException {
      if (id.isEstablished() && attempt(id, Request.END, id.id::disconnect)) {
        await("disconnecting", id, () -> id.isPending(Request.END));
      }
      if (id.isUsable() && id.isDisconnected() && random.nextBoolean()) {
        attemptQuietly(id.id::disconnect); // The peer may be the one that has disconnected.
        await("leaving TIMEWAIT", id, () -> id.isUsable() && id.isDisconnected());
      }
    }

    private static void attemptQuietly(Runnable call) {
      try {
        call.run();
      } catch (RdmaException | IllegalStateException e) {
        // It is closed, or its device was removed.
      }
    }

    // What disturbs them

    private void disturb() throws InterruptedException {
      int count = isCalm ? 0 : random.nextInt(6);
      for (int i = 0; i < count && !isOver; i++) {
        pause(random.nextBoolean() ? 20 : 2_000);
        Faults faults = hosts.faults();
        String host = random.nextBoolean() ? "client" : "server";
        switch (random.nextInt(6)) {
          case 0 -> {
            Faults _ = faults.partition("client", "server");
            pause(10_000);
            Faults _ = faults.heal();
          }
          case 1 -> {
            Faults _ = faults.stop(host);
            pause(10_000);
            Faults _ = faults.resume(host);
          }
          case 2, 3 -> {
            wasRemoved |= host.equals("server");
            if (random.nextBoolean()) {
              Faults _ = faults.kill(host);
            } else {
              hosts.network().removeDevice(host);
            }
            pause(1_000);
            hosts.restart(host);
          }
          case 4 -> close(listening);
          default -> {
            String[] functions = {
              "rdma_create_qp", "rdma_accept", "rdma_connect", "rdma_resolve_route", "rdma_reject"
            };
            Faults _ =
                faults.fail(
                    functions[random.nextInt(functions.length)],
                    1 + random.nextInt(5),
                    dev.verbena.Errno.ENOMEM);
          }
        }
      }
    }
  }
}
