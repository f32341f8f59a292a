package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.verbena.s3.server.Fault;
import dev.verbena.s3.server.Gate;
import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import dev.verbena.values.CompletionStatus;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** A device without DC: the server moves data by connections. */
class ConnectionsTest {
  private static final int SIZE = 300_000;
  private static final byte[] DATA = Rig.random(SIZE);

  private Rig rig;
  private int servers;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC, false);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static void put(S3Client client, String key) {
    client.putObject(b -> b.bucket(Rig.BUCKET).key(key), RequestBody.fromBytes(DATA));
  }

  private static byte[] get(S3Client client, String key) {
    return client
        .getObjectAsBytes(b -> b.bucket(Rig.BUCKET).key(key).range("bytes=0-" + (SIZE - 1)))
        .asByteArray();
  }

  private long requests(Operation operation) {
    return rig.server.requests().stream().filter(r -> r.operation() == operation).count();
  }

  private List<String> tokens() {
    return rig.server.requests().stream()
        .flatMap(request -> request.token().stream())
        .filter(token -> token.startsWith("rc:"))
        .toList();
  }

  private int queuePairs() {
    return rig.network.openObjects().getOrDefault("queue pair", 0);
  }

  private void assertNoBodies() {
    for (Operation operation : List.of(Operation.PUT_OBJECT, Operation.GET_OBJECT)) {
      assertEquals(0, rig.server.counters().httpReceived(operation), "received: " + operation);
      assertEquals(0, rig.server.counters().httpSent(operation), "sent: " + operation);
    }
    assertEquals(List.of(), List.copyOf(rig.server.errors()));
  }

  @Test
  void eachCallHasAConnectionOfItsOwn() throws Exception {
    int before = queuePairs();
    S3Client client = rig.client();
    put(client, "k");
    assertArrayEquals(DATA, rig.stored("k"));
    assertArrayEquals(DATA, get(client, "k"));
    S3AsyncClient async = rig.asyncClient();
    async.putObject(b -> b.bucket(Rig.BUCKET).key("a"), AsyncRequestBody.fromBytes(DATA)).join();
    assertArrayEquals(DATA, rig.stored("a"));
    byte[] range =
        async
            .getObject(
                b -> b.bucket(Rig.BUCKET).key("a").range("bytes=-" + SIZE),
                AsyncResponseTransformer.toBytes())
            .join()
            .asByteArray();
    assertArrayEquals(DATA, range);
    assertNoBodies();
    assertEquals(404, assertThrows(S3Exception.class, () -> get(client, "absent")).statusCode());
    assertEquals(5, tokens().stream().distinct().count());
    Until.holds("the server is told", () -> requests(Operation.RC_DISCONNECT) == 5);
    Until.holds("all are closed", () -> queuePairs() == before);
  }

  @Test
  void aServerWithoutAnAnswerReachesNothingByItsConnection() throws Exception {
    int before = queuePairs();
    S3Client client = rig.client();
    put(client, "k");
    Until.holds("it is closed", () -> queuePairs() == before);
    Gate gate =
        rig.server
            .faults()
            .holdBeforeTransfer(request -> request.operation() == Operation.RC_DISCONNECT);
    rig.server.faults().next(1, Fault.DROP_AFTER_TRANSFER);
    assertArrayEquals(DATA, get(client, "k"));
    List<String> tokens = tokens();
    assertEquals(2, tokens.size());
    assertEquals(before + 1, queuePairs(), "that of the client is closed, nobody waits");
    assertNotEquals(
        CompletionStatus.SUCCESS, rig.server.lateWrite(tokens.getLast(), new byte[SIZE]));
    gate.open();
    assertEquals(rig.used().bytes(), rig.used().freeBytes());
    put(client, "another");
    assertArrayEquals(DATA, rig.stored("another"));
  }

  @Test
  void parallelCallsHaveConnectionsOfTheirOwn() throws Exception {
    int more = 4;
    int calls = 16 + more;
    int before = queuePairs();
    S3Client client = rig.client();
    for (int i = 0; i < more; i++) {
      put(client, "k"); // Each lets one more call go at the same time as others.
    }
    Until.holds("all are closed", () -> queuePairs() == before);
    int connected;
    Gate gate = rig.server.faults().holdBeforeAnswer(calls);
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<byte[]>> all =
          IntStream.range(0, calls).mapToObj(_ -> executor.submit(() -> get(client, "k"))).toList();
      for (int i = 0; i < calls; i++) {
        gate.awaitRequest();
      }
      connected = queuePairs();
      gate.open();
      for (Future<byte[]> each : all) {
        assertArrayEquals(DATA, each.get());
      }
    }
    assertNoBodies();
    assertEquals(before + 2 * calls, connected, "one of each side for each call");
    assertEquals(calls + more, requests(Operation.RC_CONNECT));
    assertEquals(
        calls, tokens().stream().skip(more).map(t -> t.substring(0, 35)).distinct().count());
  }

  /** A server that answers a connect as it is told, and takes objects by HTTP. */
  private static final class Hostile implements AutoCloseable {
    private final HttpServer http;
    private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
    private final CountDownLatch end = new CountDownLatch(1);
    private final CountDownLatch refused = new CountDownLatch(1);
    private final AtomicInteger connects = new AtomicInteger();
    private final Queue<String> tokens = new ConcurrentLinkedQueue<>();
    private volatile int received;

    /**
     * With status 0 there is no answer; a body with a positive number of bytes never arrives, and
     * one with 0 has no end.
     */
    Hostile(int status, Map<String, String> answer, int body) throws IOException {
      http = HttpServer.create(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0), 9);
      http.setExecutor(executor);
      http.createContext("/", this::store);
      http.createContext(
          "/.s3rdma-rc/connect",
          exchange -> {
            connects.incrementAndGet();
            answer.forEach(exchange.getResponseHeaders()::set);
            if (status > 0) {
              exchange.sendResponseHeaders(status, body);
            }
            if (status == 0 || body > 0) {
              await(end);
            }
            if (body == 0) {
              writeWithoutEnd(exchange.getResponseBody());
            }
            exchange.close();
          });
      http.start();
    }

    private void writeWithoutEnd(OutputStream body) {
      byte[] chunk = new byte[1 << 16];
      try {
        while (true) {
          body.write(chunk);
        }
      } catch (IOException e) { // The client has closed the connection.
        refused.countDown();
      }
    }

    private static void await(CountDownLatch latch) throws IOException {
      try {
        latch.await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }

    private void store(HttpExchange exchange) throws IOException {
      List<String> token = exchange.getRequestHeaders().get("x-amz-rdma-token");
      if (token != null) {
        tokens.addAll(token);
      }
      received += exchange.getRequestBody().readAllBytes().length;
      exchange.sendResponseHeaders(token == null ? 200 : 501, -1);
      exchange.close();
    }

    String authority() {
      return "127.0.0.1:" + http.getAddress().getPort();
    }

    @Override
    public void close() {
      end.countDown();
      http.stop(0);
      executor.close();
    }
  }

  private static final String NUMBER = "05000000";
  private static final String GID = "00000000000000000000ffff7f000002";
  private static final String REST = "0".repeat(46);
  private static final Map<String, String> VALID =
      answer("0".repeat(32), "200:01" + NUMBER + GID + REST, "000001");

  private static Map<String, String> answer(String session, String reply, String psn) {
    return Map.of("x-amz-rdma-session", session, "x-amz-rdma-reply", reply, "x-amz-rdma-psn", psn);
  }

  private static Map<String, String> with(String name, String value) {
    Map<String, String> answer = new HashMap<>(VALID);
    answer.put("x-amz-rdma-" + name, value);
    return answer;
  }

  private static Map<String, String> without(String name) {
    Map<String, String> answer = new HashMap<>(VALID);
    answer.remove("x-amz-rdma-" + name);
    return answer;
  }

  private S3Client client(Hostile server) {
    rig.settings.put("endpoints", server.authority());
    // Endpoints are found by their settings, and a port is used again.
    rig.settings.put("poolBytes", Integer.toString((1 << 30) + servers++));
    return S3Rdma.configure(S3Client.builder(), rig.settings())
        .endpointOverride(URI.create("http://" + server.authority()))
        .forcePathStyle(true)
        .region(Region.US_EAST_1)
        .credentialsProvider(Rig.credentials())
        .build();
  }

  /** Returns the tokens that the server got. */
  private List<String> store(int status, Map<String, String> answer, int body) throws IOException {
    int before = queuePairs();
    try (Hostile server = new Hostile(status, answer, body)) {
      try (S3Client client = client(server)) {
        put(client, "k");
      }
      assertEquals(1, server.connects.get(), () -> status + " " + answer);
      assertTrue(server.received >= SIZE, () -> status + " " + answer);
      assertEquals(before, queuePairs(), () -> status + " " + answer);
      Endpoint endpoint = rig.at(URI.create("http://" + server.authority()));
      assertEquals(endpoint.bytes(), endpoint.freeBytes(), () -> status + " " + answer);
      return List.copyOf(server.tokens);
    }
  }

  @Test
  void anAnswerIsNotBelieved() throws Exception {
    assertEquals(1, store(200, VALID, -1).size(), "the others differ from it in one thing");
    String reply = VALID.get("x-amz-rdma-reply");
    for (Map<String, String> answer :
        List.of(
            Map.<String, String>of(),
            without("session"),
            with("session", "0".repeat(31)),
            with("session", "0".repeat(33)),
            with("session", "0".repeat(31) + "g"),
            without("reply"),
            with("reply", reply.substring(4)),
            with("reply", "501" + reply.substring(3)),
            with("reply", reply.substring(0, 91)),
            with("reply", reply + "0"),
            with("reply", reply.replace("05", "0x")),
            with("reply", reply.substring(0, 88) + "zzzz"),
            with("reply", reply.replace("200:01", "200:00")), // DC
            with("reply", reply.replace(NUMBER, "05000001")), // 25 bits
            with("reply", reply.replace(GID, GID.replace("ffff", "fffe"))), // IPv6
            without("psn"),
            with("psn", ""),
            with("psn", "1000000"),
            with("psn", "ffffffffffffffff"),
            with("psn", "-00001"),
            with("psn", "00000x"))) {
      assertEquals(List.of(), store(200, answer, -1), answer::toString);
    }
    for (int status : List.of(204, 301, 400, 404, 500, 503)) {
      assertEquals(List.of(), store(status, VALID, -1), () -> "status " + status);
    }
  }

  @Test
  void anAnswerThatDoesNotArriveIsNotAwaited() throws Exception {
    rig.settings.put("timeout", "0.2s");
    assertEquals(List.of(), store(0, VALID, -1), "no answer");
    assertEquals(List.of(), store(200, VALID, 5), "no body");
  }

  @Test
  void aBodyWithoutEndIsNotRead() throws Exception {
    try (Hostile server = new Hostile(200, VALID, 0);
        S3Client client = client(server)) {
      put(client, "k");
      Until.holds("the body is refused", () -> server.refused.getCount() == 0);
      assertEquals(1, server.tokens.size());
    }
  }

  @Test
  void anInterruptEndsTheWaitForAConnection() throws Exception {
    try (Hostile server = new Hostile(0, VALID, -1);
        S3Client client = client(server)) {
      FutureTask<Throwable> call =
          new FutureTask<>(() -> assertThrows(SdkException.class, () -> put(client, "k")));
      Thread thread = Thread.ofPlatform().start(call);
      Until.holds("it connects", () -> server.connects.get() == 1);
      thread.interrupt();
      call.get();
    }
  }

  /** The time for a call is that of the program. */
  @Test
  void aCallWaitsForAConnectionNoLongerThanItsTimeout() throws Exception {
    try (Hostile server = new Hostile(0, VALID, -1);
        S3Client client = client(server)) {
      assertThrows(
          SdkException.class,
          () ->
              client.putObject(
                  b ->
                      b.bucket(Rig.BUCKET)
                          .key("k")
                          .overrideConfiguration(o -> o.apiCallTimeout(Duration.ofMillis(200))),
                  RequestBody.fromBytes(DATA)));
    }
  }

  @Test
  void aBufferGoesByHttpWithoutAConnection() throws Exception {
    try (Hostile server = new Hostile(404, VALID, -1);
        S3Client client = client(server);
        S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      buffer.segment().copyFrom(MemorySegment.ofArray(DATA));
      client.putObject(
          buffer.in(PutObjectRequest.builder().bucket(Rig.BUCKET).key("k").build()), buffer.body());
      assertEquals(1, server.connects.get());
      assertTrue(server.received >= SIZE);
      assertArrayEquals(DATA, buffer.segment().toArray(ValueLayout.JAVA_BYTE));
    }
  }
}
