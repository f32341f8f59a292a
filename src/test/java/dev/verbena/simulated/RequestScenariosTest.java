package dev.verbena.simulated;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.messages.RequestClient;
import dev.verbena.messages.RequestFailedException;
import dev.verbena.messages.RequestServer;
import dev.verbena.soft.CmRemains;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftHosts;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkRequestException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/**
 * Clients call a server by all kinds of calls while packets are lost, hosts are killed, stopped or
 * separated, and threads are interrupted; clients and the server close at any moment. Each call
 * ends in time with its own answer or an exception, its request is executed once if it is answered,
 * and at most once otherwise; afterwards each client has all of its slots again, and the server all
 * of its places.
 */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class RequestScenariosTest {
  private static final Duration REST = Duration.ofMinutes(30);

  /** To learn why a connection has ended, or for a wait that takes its turn. */
  private static final Duration SLACK = Duration.ofSeconds(6);

  /** The longest close of a client or a server. */
  private static final Duration CLOSING_TIME = Duration.ofSeconds(20);

  private static final String FAILS = "fails";

  @Test
  void eachCallHasItsAnswerAndLeavesItsPlace() {
    Simulation.check(Seeds.of(40), simulation -> new Scenario(simulation).run());
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
    RequestServer.Handler handler =
        (request, answer) -> {
          if (request.byteSize() > 0) {
            areAllUnderWay.countDown();
            areAllUnderWay.await();
          }
          return 0;
        };
    try (RequestServer server =
        RequestServer.open(
            address, settings, 2, 1, handler, code -> Thread.ofVirtual().start(code))) {
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
        RequestServer.open(
            address,
            settings,
            2,
            (request, answer) -> {
              Simulation.sleep(Duration.ofNanos(random.nextInt(200_000)));
              return 0;
            });
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

  private static final Duration LIMIT = Duration.ofHours(1);

  private static final class Scenario {
    private final Simulation simulation;
    private final RandomGenerator random;
    private final SoftHosts hosts = SoftHosts.create();
    private final InetSocketAddress address;
    private final ConnectionSettings settings;
    private final int maxClients;
    private final boolean isQuiet;
    private final boolean isSlow;

    /** How often the handler was called for each request. */
    private final Map<Integer, Integer> executions = new HashMap<>();

    private final List<Thread> callers = new ArrayList<>();
    private int requests;
    private RequestServer server;
    private boolean isServerClosed;

    /** Whether there may be more clients than places. */
    private boolean isCrowded;

    private boolean isEnded;

    Scenario(Simulation simulation) {
      this.simulation = simulation;
      this.random = simulation.random();
      address = new InetSocketAddress(hosts.serverAddress(), 4711);
      maxClients = 1 + random.nextInt(3);
      isQuiet = random.nextBoolean();
      isSlow = random.nextBoolean();
      ConnectionSettings chosen =
          ConnectionSettings.DEFAULT
              .withMessageSize(16 + random.nextInt(500))
              .withSends(1 + random.nextInt(4))
              .withTimeout(Duration.ofSeconds(20))
              .withKeepAlive(Duration.ofSeconds(1));
      settings =
          chosen.withSpin(Duration.ofNanos(random.nextBoolean() ? random.nextInt(5_000) : 0));
    }

    void run() throws Exception {
      try (hosts) {
        if (!isQuiet) {
          var _ = hosts.faults().vary(random);
        } else if (random.nextBoolean()) {
          var _ = hosts.faults().strict();
        }
        ScenarioLimit.start(simulation, LIMIT, () -> isEnded);
        hosts.call(
            () -> {
              serveAndCall();
              return null;
            });
        isEnded = true;
        var _ = hosts.faults().none();
        Simulation.sleep(REST);
        assertEquals(List.of(), CmRemains.of(hosts.network()));
      }
      executions.forEach(
          (request, times) -> assertEquals(1, times, () -> "executions of request " + request));
    }

    private void serveAndCall() throws InterruptedException {
      boolean hasExecutor = random.nextBoolean();
      server =
          RequestServer.open(
              address,
              settings,
              maxClients,
              10_000,
              this::answer,
              hasExecutor ? code -> Thread.ofVirtual().start(code) : null);
      Thread serving = simulation.actor("server", this::serve);
      isCrowded = random.nextBoolean();
      int count = 1 + random.nextInt(isCrowded ? maxClients + 2 : maxClients);
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        clients.add(simulation.actor("client " + i, this::callOften));
      }
      Thread disturbing = simulation.actor("disturbance", isQuiet ? () -> {} : this::disturb);
      for (Thread client : clients) {
        client.join();
      }
      disturbing.join();
      var _ = hosts.faults().none();
      if (!isServerClosed) {
        requireAllPlaces();
      }
      closeServer();
      serving.join();
    }

    // The server

    private void serve() throws InterruptedException {
      while (!isServerClosed) {
        try {
          server.run();
        } catch (ConnectionException e) {
          isServerClosed = true; // The device was removed.
        } catch (RdmaException e) {
          assertTrue(isServerClosed, e::toString);
        } catch (IllegalStateException e) {
          assertTrue(isServerClosed, e::toString);
        }
      }
    }

    private int answer(MemorySegment request, MemorySegment answer) throws InterruptedException {
      int number = request.get(ValueLayout.JAVA_INT_UNALIGNED, 0);
      executions.merge(number, 1, Integer::sum);
      if (isSlow && number % 3 == 0) {
        pause(number % 7 * 20);
      }
      if (number % 11 == 0) {
        throw new IllegalArgumentException(FAILS);
      }
      byte[] bytes = answerTo(number, request.toArray(ValueLayout.JAVA_BYTE));
      MemorySegment.copy(MemorySegment.ofArray(bytes), 0, answer, 0, bytes.length);
      return bytes.length;
    }

    private byte[] answerTo(int number, byte[] request) {
      return (number + " " + java.util.Arrays.hashCode(request)).getBytes(UTF_8);
    }

    private void closeServer() {
      isServerClosed = true;
      Duration start = simulation.now();
      server.close();
      requireWithin(CLOSING_TIME, start, "closing the server");
    }

    /**
     * Whatever the clients did: as many as are allowed have a place soon, when the server has
     * learned that the others have gone.
     */
    private void requireAllPlaces() throws InterruptedException {
      Duration start = simulation.now();
      while (server.clients() > 0 || !haveAllPlaces()) {
        pause(100);
        requireWithin(Duration.ofMinutes(5), start, "freeing the places of the clients");
      }
    }

    private boolean haveAllPlaces() throws InterruptedException {
      List<RequestClient> all = new ArrayList<>();
      try {
        for (int i = 0; i < maxClients; i++) {
          all.add(RequestClient.connect(address, clientSettings()));
          if (!callByAllSlots(all.getLast())) {
            return false;
          }
        }
        return true;
      } catch (RdmaException e) {
        return false;
      } finally {
        all.forEach(RequestClient::close);
      }
    }

    // The clients

    private ConnectionSettings clientSettings() {
      return settings.withLocalAddress(
          new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0));
    }

    private void callOften() throws InterruptedException {
      for (int i = isCrowded ? 1 + random.nextInt(3) : 1; i > 0; i--) {
        RequestClient client;
        try {
          client = RequestClient.connect(address, clientSettings());
        } catch (RdmaException e) {
          pause(random.nextInt(1_000)); // No room, or no server.
          continue;
        }
        List<Thread> own = new ArrayList<>();
        for (int j = 1 + random.nextInt(4); j > 0; j--) {
          own.add(simulation.actor("caller", () -> callSeveralTimes(client)));
        }
        callers.addAll(own);
        boolean closesEarly = !isQuiet && random.nextInt(4) == 0;
        if (closesEarly) {
          pause(random.nextInt(random.nextBoolean() ? 5 : 500));
          close(client);
        }
        for (Thread caller : own) {
          caller.join();
        }
        callers.removeAll(own);
        if (isQuiet && !isCrowded) { // Otherwise another client may have got its place.
          assertTrue(callByAllSlots(client), "no answer after all other calls have ended");
        }
        close(client);
      }
    }

    private void close(RequestClient client) {
      Duration start = simulation.now();
      client.close();
      requireWithin(CLOSING_TIME, start, "closing a client");
    }

    /** Calls as often at a time as is allowed; returns whether all are answered. */
    private boolean callByAllSlots(RequestClient client) throws InterruptedException {
      Duration start = simulation.now();
      List<Call> calls = new ArrayList<>();
      for (int i = 0; i < client.limit(); i++) {
        Call call = new Call(client, Duration.ofMinutes(1));
        call.submit();
        calls.add(call);
      }
      requireWithin(Duration.ofSeconds(10), start, "taking all slots");
      boolean areAnswered = true;
      for (Call call : calls) {
        call.end();
        areAnswered &= call.isAnswered;
      }
      return areAnswered;
    }

    private void callSeveralTimes(RequestClient client) {
      List<Call> submitted = new ArrayList<>();
      for (int i = random.nextInt(8); i > 0; i--) {
        Call call =
            new Call(
                client,
                isQuiet && random.nextBoolean()
                    ? Duration.ofMinutes(1)
                    : Duration.ofMillis(random.nextInt(random.nextBoolean() ? 30 : 3_000)));
        if (random.nextInt(5) == 0) {
          pauseOnce(random.nextInt(200));
        }
        Duration start = simulation.now();
        try {
          if (call.begin()) {
            submitted.add(call);
          }
        } catch (InterruptedException e) {
          // By the disturbance.
        }
        requireWithin(call.timeout.plus(SLACK), start, "a call");
      }
      for (Call call : submitted) {
        if (random.nextInt(4) == 0) {
          boolean _ = call.future.cancel(false);
        }
        try {
          call.end();
        } catch (InterruptedException e) {
          // By the disturbance.
        }
      }
    }

    private void requireWithin(Duration limit, Duration start, String doing) {
      Duration took = simulation.now().minus(start);
      assertTrue(took.compareTo(limit) <= 0, () -> doing + " took " + took + ", not " + limit);
    }

    /** A request, and what became of it. */
    private final class Call {
      private final RequestClient client;
      private final int number = requests++;
      private final Duration timeout;
      private final byte[] bytes;
      private CompletableFuture<byte[]> future;
      private boolean isAnswered;

      Call(RequestClient client, Duration timeout) {
        this.client = client;
        this.timeout = timeout;
        bytes = bytes(4 + random.nextInt(client.messageSize() - 3));
      }

      private byte[] bytes(int length) {
        byte[] request = new byte[length];
        new Random(number).nextBytes(request);
        MemorySegment.ofArray(request).set(ValueLayout.JAVA_INT_UNALIGNED, 0, number);
        return request;
      }

      /** Calls, and returns false, or submits the request. */
      boolean begin() throws InterruptedException {
        try {
          switch (random.nextInt(5)) {
            case 0 -> answered(bytes, client.call(bytes, timeout));
            case 1 -> callInMemory();
            case 2 -> callLarge();
            default -> {
              submit();
              return true;
            }
          }
        } catch (RuntimeException e) {
          failed(e);
        }
        return false;
      }

      private void callInMemory() throws InterruptedException {
        MemorySegment answer = MemorySegment.ofArray(new byte[client.messageSize()]);
        int length = client.call(MemorySegment.ofArray(bytes), answer, timeout);
        answered(bytes, answer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
      }

      private void callLarge() throws InterruptedException {
        byte[] request = bytes(4 + random.nextInt(9_000));
        MemoryRegion region =
            client.domain().allocateMemory(request.length, AccessFlag.REMOTE_READ);
        region.memory().copyFrom(MemorySegment.ofArray(request));
        MemorySegment answer = MemorySegment.ofArray(new byte[client.messageSize()]);
        int length = client.call(region, 0, request.length, answer, timeout);
        answered(request, answer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
      }

      private void answered(byte[] request, byte[] answer) {
        assertArrayEquals(
            answerTo(number, request), answer, () -> new String(answer, UTF_8) + " for " + number);
        assertEquals(1, executions.get(number), () -> "executions of request " + number);
        isAnswered = true;
      }

      private void failed(Throwable e) {
        if (e instanceof RequestFailedException) {
          assertTrue(e.getMessage().contains(FAILS) && number % 11 == 0, e::toString);
          assertEquals(1, executions.get(number), () -> "executions of request " + number);
          isAnswered = true;
          return;
        }
        assertTrue(
            e instanceof RdmaTimeoutException
                || e instanceof ConnectionException
                || e instanceof WorkRequestException
                || e instanceof CancellationException
                || ((e instanceof IllegalStateException || e instanceof VerbsException)
                    && !isQuiet),
            () -> "a call has failed by " + e);
      }

      void submit() throws InterruptedException {
        try {
          future = client.submit(bytes, timeout);
        } catch (RuntimeException e) {
          failed(e);
          future = CompletableFuture.failedFuture(e);
        }
      }

      /** Waits for the end of a request that was submitted. */
      void end() throws InterruptedException {
        Duration start = simulation.now();
        try {
          answered(bytes, future.get());
        } catch (ExecutionException e) {
          failed(e.getCause());
        } catch (CancellationException e) {
          failed(e);
        }
        requireWithin(timeout.plus(SLACK), start, "a request that was submitted");
      }
    }

    // What disturbs them

    private void disturb() throws InterruptedException {
      int count = random.nextInt(6);
      for (int i = 0; i < count; i++) {
        pause(random.nextInt(random.nextBoolean() ? 20 : 2_000));
        String host = random.nextBoolean() ? "client" : "server";
        switch (random.nextInt(8)) {
          case 0, 1 -> {
            var _ = hosts.faults().disturb(random, Duration.ofSeconds(5));
          }
          case 2 -> {
            isServerClosed |= host.equals("server"); // The program opens no other.
            hosts.restart(host);
          }
          case 3 -> {
            if (random.nextInt(3) == 0 && !isServerClosed) {
              closeServer();
            }
          }
          default -> {
            if (!callers.isEmpty()) {
              callers.get(random.nextInt(callers.size())).interrupt();
            }
          }
        }
      }
    }

    private static void pauseOnce(int milliseconds) {
      try {
        pause(milliseconds);
      } catch (InterruptedException e) {
        // By the disturbance.
      }
    }

    private static void pause(int milliseconds) throws InterruptedException {
      Simulation.sleep(Duration.ofMillis(milliseconds));
    }
  }
}
