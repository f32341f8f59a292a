package dev.verbena.simulated;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.messages.Answer;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.messages.Request;
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
import java.util.concurrent.ExecutionException;
import java.util.random.RandomGenerator;

/**
 * Clients call a server by all kinds of calls while packets are lost, hosts are killed, stopped or
 * separated, and threads are interrupted; clients and the server close at any moment. Each call
 * ends in time with its own answer or an exception, its request is executed once if it is answered,
 * and at most once otherwise; afterwards each client has all of its slots again, and the server all
 * of its places.
 */
final class RequestScenario {
  private static final Duration LIMIT = Duration.ofHours(1);
  private static final Duration REST = Duration.ofMinutes(30);

  /** To learn why a connection has ended, or for a wait that takes its turn. */
  private static final Duration SLACK = Duration.ofSeconds(6);

  /** The longest close of a client or a server. */
  private static final Duration CLOSING_TIME = Duration.ofSeconds(20);

  private static final String FAILS = "fails";

  /** Says a server whose memory for copies of answers others have. */
  private static final String NO_MEMORY = "other answers";

  /** The least memory for copies: that of the largest request and the largest answer. */
  private static final int COPIES = 1 << 15;

  private static final int LARGEST = 10_000;

  private final Simulation simulation;
  private final RandomGenerator random;
  private final SoftHosts hosts = SoftHosts.create();
  private final InetSocketAddress address;
  private final ConnectionSettings settings;
  private final int maxClients;
  private final boolean isQuiet;
  private final boolean isSlow;

  /** The sizes of answers that are larger than the shortest. */
  private final Map<Integer, Integer> wanted = new HashMap<>();

  /** The regions of answers whose memory may not change yet. */
  private int unsent;

  /** How often the handler was called for each request. */
  private final Map<Integer, Integer> executions = new HashMap<>();

  private final List<Thread> callers = new ArrayList<>();
  private int requests;
  private RequestServer server;
  private boolean isServerClosed;
  private boolean isServerStopped;

  /** Whether there may be more clients than places. */
  private boolean isCrowded;

  private boolean isEnded;

  RequestScenario(Simulation simulation) {
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
            .withCopies(COPIES << random.nextInt(3))
            .withKeepAlive(Duration.ofSeconds(1));
    settings = chosen.withSpin(Duration.ofNanos(random.nextBoolean() ? random.nextInt(5_000) : 0));
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
        RequestServer.builder(address, this::answer)
            .settings(settings.withCopies(COPIES / 2))
            .clients(maxClients)
            .largest(LARGEST)
            .executor(hasExecutor ? code -> Thread.ofVirtual().start(code) : null)
            .open();
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
    if (!isServerClosed && !isServerStopped) {
      requireAllPlaces();
      Duration start = simulation.now();
      while (server.clients() > 0) {
        pause(100);
        requireWithin(Duration.ofMinutes(5), start, "freeing the places of the last clients");
      }
      assertEquals(0, unsent, "regions that are not sent");
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

  private void answer(Request request) throws InterruptedException {
    int number = request.bytes().get(ValueLayout.JAVA_INT_UNALIGNED, 0);
    executions.merge(number, 1, Integer::sum);
    if (isSlow && number % 3 == 0) {
      pause(number % 7 * 20);
    }
    if (number % 11 == 0) {
      throw new IllegalArgumentException(FAILS);
    }
    byte[] bytes = answerTo(number, request.bytes().toArray(ValueLayout.JAVA_BYTE));
    if (number % 2 == 0) {
      request.answer(MemorySegment.ofArray(bytes));
    } else {
      answerByRegion(request, bytes);
    }
  }

  private void answerByRegion(Request request, byte[] bytes) {
    MemoryRegion region = server.domain().allocateMemory(bytes.length);
    region.memory().copyFrom(MemorySegment.ofArray(bytes));
    boolean[] isSent = {false};
    unsent++;
    request.answer(
        region,
        0,
        bytes.length,
        () -> {
          assertFalse(isSent[0], "sent twice");
          isSent[0] = true;
          unsent--;
          region.memory().fill((byte) -1);
          region.close();
        });
  }

  private byte[] answerTo(int number, byte[] request) {
    byte[] text = (number + " " + java.util.Arrays.hashCode(request)).getBytes(UTF_8);
    byte[] bytes = new byte[Math.max(text.length, wanted.getOrDefault(number, 0))];
    new Random(number).nextBytes(bytes);
    System.arraycopy(text, 0, bytes, 0, text.length);
    return bytes;
  }

  private void closeServer() {
    isServerClosed = true;
    Duration start = simulation.now();
    server.close();
    requireWithin(CLOSING_TIME, start, "closing the server");
  }

  private void stopServer() throws InterruptedException {
    isServerStopped = true;
    Duration start = simulation.now();
    try {
      server.stop(Duration.ofMillis(random.nextInt(3_000)));
    } catch (RdmaTimeoutException e) {
      // A client does not take its answers, or a handler takes longer.
    } catch (IllegalStateException | VerbsException e) {
      assertTrue(isServerClosed, e::toString);
    }
    requireWithin(Duration.ofSeconds(4), start, "stopping the server");
  }

  /**
   * Whatever the clients did: as many as are allowed have a place soon, when the server has learned
   * that the others have gone.
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
    return settings.withLocalAddress(new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0));
  }

  private void callOften() throws InterruptedException {
    for (int i = isCrowded ? 1 + random.nextInt(3) : 1; i > 0; i--) {
      RequestClient client;
      ConnectionSettings again =
          clientSettings().withReconnect(Duration.ofMillis(10), Duration.ofSeconds(1));
      try {
        client = RequestClient.connect(address, random.nextBoolean() ? again : clientSettings());
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
        pause(random.nextBoolean() ? 0 : 60_000); // Keep-alives leave an idle connection.
        assertTrue(callByAllSlots(client), "no answer after all other calls have ended");
        requireMemory(client);
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

  /** All memory for copies is free again, when the handlers of late requests have returned. */
  private void requireMemory(RequestClient client) throws InterruptedException {
    Duration start = simulation.now();
    while (true) {
      Call call = new Call(client, Duration.ofMinutes(1));
      try {
        call.callByCopies(LARGEST, LARGEST);
        return;
      } catch (RequestFailedException e) {
        call.failed(e);
        pause(10);
      }
      requireWithin(Duration.ofSeconds(10), start, "a call with all memory");
    }
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
    private boolean isCalledBack;

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
        switch (random.nextInt(8)) {
          case 0 -> answered(bytes, client.call(bytes, timeout));
          case 1 -> callInMemory();
          case 2 -> callLarge();
          case 3 -> callByCopies(4 + random.nextInt(LARGEST - 4), random.nextInt(LARGEST));
          case 4 -> callToRegion(random.nextInt(2 * LARGEST));
          case 5 -> {
            chain(random.nextInt(4));
            return true;
          }
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
      long length = client.call(MemorySegment.ofArray(bytes), answer, timeout);
      answered(bytes, answer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
    }

    private void callLarge() throws InterruptedException {
      byte[] request = bytes(4 + random.nextInt(9_000));
      MemoryRegion region = client.domain().allocateMemory(request.length, AccessFlag.REMOTE_READ);
      region.memory().copyFrom(MemorySegment.ofArray(request));
      MemorySegment answer = MemorySegment.ofArray(new byte[client.messageSize()]);
      long length = client.call(region, 0, request.length, answer, timeout);
      answered(request, answer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
    }

    private void callByCopies(int size, int room) throws InterruptedException {
      byte[] request = bytes(size);
      want(room);
      MemorySegment answer = MemorySegment.ofArray(new byte[Math.max(32, room)]);
      long length = client.call(MemorySegment.ofArray(request), answer, timeout);
      answered(request, answer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
    }

    private void callToRegion(int room) throws InterruptedException {
      want(room);
      MemoryRegion region =
          client
              .domain()
              .allocateMemory(Math.max(32, room), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      long length = client.call(MemorySegment.ofArray(bytes), region, 0, region.length(), timeout);
      answered(bytes, region.memory().asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
    }

    private void want(int size) {
      wanted.put(number, size);
    }

    /** Submits the request, and further ones when each is answered. */
    private void chain(int more) throws InterruptedException {
      CompletableFuture<byte[]> answer = new CompletableFuture<>();
      future = answer;
      try {
        client.submit(
            MemorySegment.ofArray(bytes),
            timeout,
            new RequestClient.Callback() {
              @Override
              public void answered(Answer arrived) {
                requireFirst();
                answer.complete(arrived.bytes().toArray(ValueLayout.JAVA_BYTE));
                sendAgain(more);
              }

              @Override
              public void failed(RuntimeException reason) {
                requireFirst();
                answer.completeExceptionally(reason);
              }
            });
      } catch (RuntimeException e) {
        failed(e);
        answer.completeExceptionally(e);
      }
    }

    private void requireFirst() {
      assertFalse(isCalledBack, "called back twice");
      isCalledBack = true;
    }

    private void sendAgain(int more) {
      Call next = new Call(client, timeout);
      if (more > 0) {
        try {
          next.chain(more - 1);
        } catch (InterruptedException e) {
          throw new AssertionError("the thread of callbacks was interrupted", e);
        }
      }
    }

    private void answered(byte[] request, byte[] answer) {
      assertArrayEquals(
          answerTo(number, request), answer, () -> new String(answer, UTF_8) + " for " + number);
      assertEquals(1, executions.get(number), () -> "executions of request " + number);
      isAnswered = true;
    }

    private void failed(Throwable e) {
      if (e instanceof RequestFailedException refused) {
        if (refused.isTransient()) {
          assertTrue(isServerStopped, e::toString);
          assertEquals(null, executions.get(number), () -> "executions of request " + number);
          return;
        }
        assertTrue(
            number % 11 == 0
                ? e.getMessage().contains(FAILS)
                : e.getMessage().contains(NO_MEMORY) && wanted.containsKey(number),
            e::toString);
        assertEquals(1, executions.get(number), () -> "executions of request " + number);
        isAnswered = true;
        return;
      }
      assertFalse(String.valueOf(e.getMessage()).contains("is full"), e::toString);
      assertTrue(
          e instanceof RdmaTimeoutException
              || e instanceof ConnectionException
              || e instanceof WorkRequestException
              || e instanceof CancellationException
              || (e instanceof IllegalStateException && e.getMessage().contains("a callback must"))
              || ((e instanceof IllegalStateException || e instanceof VerbsException) && !isQuiet),
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
            if (random.nextBoolean()) {
              stopServer();
            } else {
              closeServer();
            }
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
