package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.soft.CmRemains;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftHosts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/**
 * Both ends of a connection send messages while packets are lost, hosts are killed, stopped or
 * separated, threads are interrupted and each end closes at any moment. What arrives was sent, in
 * order and once; what was acknowledged arrives, unless the receiver's end was closed; after the
 * orderly end of the sender all has arrived; each blocked call returns.
 */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class MessageScenariosTest {
  private static final Duration REST = Duration.ofMinutes(30);
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @Test
  void whatIsSentArrivesOnceInOrder() {
    Simulation.check(Seeds.of(40), simulation -> new Scenario(simulation).run());
  }

  private static final Duration LIMIT = Duration.ofHours(1);

  private static final class Scenario {
    private final Simulation simulation;
    private final RandomGenerator random;
    private final SoftHosts hosts = SoftHosts.create();
    private final List<Thread> workers = new ArrayList<>();
    private final int largest;
    private final long content;

    private boolean isEnded;

    Scenario(Simulation simulation) {
      this.simulation = simulation;
      this.random = simulation.random();
      largest = 8 + random.nextInt(random.nextBoolean() ? 100 : 10_000);
      content = random.nextLong();
    }

    void run() throws Exception {
      try (hosts) {
        var _ = hosts.faults().vary(random);
        ScenarioLimit.start(simulation, LIMIT, () -> isEnded);
        hosts.call(
            () -> {
              exchange();
              return null;
            });
        isEnded = true;
        var _ = hosts.faults().none();
        Simulation.sleep(REST);
        assertEquals(List.of(), CmRemains.of(hosts.network()));
      }
    }

    private ConnectionSettings settings() {
      ConnectionSettings settings =
          ConnectionSettings.DEFAULT
              .withMessageSize(largest)
              .withReceives(1 + random.nextInt(8))
              .withSends(1 + random.nextInt(8))
              .withTimeout(TIMEOUT)
              .withKeepAlive(Duration.ofSeconds(1 + random.nextInt(3)));
      return settings.withParameters(settings.parameters().withRnrRetryCount(7));
    }

    private void exchange() throws Exception {
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), 4711);
      Connection client;
      Connection server;
      try (Listener listener = Listener.open(address)) {
        FutureTask<Connection> accepted =
            new FutureTask<>(() -> Connection.accept(listener.take(), settings()));
        Thread accepting = simulation.actor("accept", accepted::run);
        InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
        client = Connection.connect(address, settings().withLocalAddress(local));
        accepting.join();
        if (accepted.state() != FutureTask.State.SUCCESS) {
          client.close();
          return;
        }
        server = accepted.get();
      } catch (RdmaException e) {
        return; // ConnectScenariosTest looks at these.
      }
      Way there = new Way(client, server, random.nextInt(40));
      Way back = new Way(server, client, random.nextInt(40));
      List<Way> ways = List.of(there, back);
      boolean isQuiet = random.nextBoolean();
      for (Way way : ways) {
        workers.add(simulation.actor("sender", way::sendAll));
        workers.add(simulation.actor("receiver", way::receiveAll));
      }
      Thread ending = simulation.actor("end", () -> end(ways, isQuiet));
      Thread disturbing = simulation.actor("disturbance", () -> disturb(isQuiet ? 0 : 4));
      ending.join();
      disturbing.join();
      for (Thread worker : workers) {
        worker.join();
      }
      ways.forEach(Way::check);
    }

    /** Closes both ends, in a quiet run after all was sent. */
    private void end(List<Way> ways, boolean isQuiet) throws InterruptedException {
      List<Way> order = new ArrayList<>(ways);
      if (random.nextBoolean()) {
        order = order.reversed();
      }
      for (Way way : order) {
        if (isQuiet) {
          while (!ways.stream().allMatch(each -> each.isSent)) {
            pause(10);
          }
        }
        pause(random.nextInt(random.nextBoolean() ? 10 : 10_000));
        way.close();
      }
    }

    private void disturb(int most) throws InterruptedException {
      int count = most == 0 ? 0 : random.nextInt(most);
      for (int i = 0; i < count; i++) {
        pause(random.nextInt(random.nextBoolean() ? 5 : 2_000));
        String host = random.nextBoolean() ? "client" : "server";
        switch (random.nextInt(6)) {
          case 0, 1 -> {
            var _ = hosts.faults().disturb(random, Duration.ofSeconds(5));
          }
          case 2 -> hosts.restart(host);
          default -> workers.get(random.nextInt(workers.size())).interrupt();
        }
      }
    }

    private static void pause(int milliseconds) throws InterruptedException {
      Simulation.sleep(Duration.ofMillis(milliseconds));
    }

    /** The message with a number. */
    private byte[] message(Way way, int number) {
      Random bytes = new Random(content + 31L * number + (way.isThere() ? 7 : 0));
      byte[] message = new byte[bytes.nextInt(largest + 1)];
      bytes.nextBytes(message);
      return message;
    }

    /** The messages in one direction. */
    private final class Way {
      private final Connection from;
      private final Connection to;
      private final int count;
      private final boolean waits = random.nextBoolean();

      /** What has been given to the connection, and what was acknowledged. */
      private int posted;

      private int acknowledged;

      /** Whether a call has failed, so that its message may be on the way, or not. */
      private boolean isUnknown;

      private boolean isSent;
      private boolean isReceiverClosed;

      private int received;
      private boolean isEnded;
      private boolean isFailed;

      Way(Connection from, Connection to, int count) {
        this.from = from;
        this.to = to;
        this.count = count;
      }

      boolean isThere() {
        return from.endpoint().request().isEmpty();
      }

      void close() {
        Duration start = simulation.now();
        isReceiverClosed = true;
        to.close();
        Duration took = simulation.now().minus(start);
        assertTrue(took.compareTo(TIMEOUT) < 0, () -> "a close took " + took);
      }

      void sendAll() throws InterruptedException {
        try {
          from.setTimeout(TIMEOUT);
          while (posted < count) {
            if (random.nextInt(10) == 0) {
              pause(random.nextInt(300));
            }
            sendNext();
          }
          from.awaitPosted();
          acknowledged = posted;
        } catch (RdmaException | IllegalStateException e) {
          // The connection was closed, or has failed.
        } catch (InterruptedException e) {
          // By the disturbance.
        } finally {
          isSent = true;
        }
      }

      private void sendNext() throws InterruptedException {
        byte[] message = message(this, posted);
        posted++;
        isUnknown = true;
        if (waits || random.nextInt(4) == 0) {
          from.send(message);
          acknowledged = posted;
        } else {
          try {
            from.postSend(message);
          } catch (InterruptedException e) {
            posted--; // As promised.
          }
        }
        isUnknown = false;
      }

      void receiveAll() {
        try (Arena arena = Arena.ofConfined()) {
          MemorySegment target = arena.allocate(largest);
          while (true) {
            try {
              if (random.nextInt(10) == 0) {
                pause(random.nextInt(1_000));
              }
              byte[] message = receive(target);
              if (message == null) {
                isEnded = true;
                return;
              }
              if (received >= posted) {
                throw new AssertionError("message " + received + " of " + posted);
              }
              assertTrue(
                  java.util.Arrays.equals(message(this, received), message),
                  () -> "message " + received + " is another one");
              received++;
            } catch (InterruptedException | RdmaTimeoutException e) {
              if (e instanceof RdmaTimeoutException && to.endpoint().end().isPresent()) {
                isFailed = true;
                return; // The keep-alive.
              }
            }
          }
        } catch (RdmaException e) {
          isFailed = true;
        } catch (IllegalStateException e) {
          assertTrue(isReceiverClosed, e::toString);
        }
      }

      private byte[] receive(MemorySegment target) throws InterruptedException {
        Duration limit = Duration.ofMillis(random.nextInt(3_000));
        return switch (random.nextInt(3)) {
          case 0 -> to.receive();
          case 1 -> to.receive(limit);
          default -> receive(target, limit);
        };
      }

      private byte[] receive(MemorySegment target, Duration limit) throws InterruptedException {
        int length = to.receive(target, limit);
        if (length < 0) {
          return null;
        }
        return target.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
      }

      void check() {
        if (isEnded) {
          assertTrue(
              received == posted || (isUnknown && received == posted - 1),
              () -> received + " of " + posted + " messages before the orderly end");
        }
        if (isFailed) {
          assertTrue(received >= acknowledged, () -> received + " of " + acknowledged);
        }
      }
    }
  }
}
