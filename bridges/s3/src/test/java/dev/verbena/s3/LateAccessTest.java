package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import dev.verbena.s3.server.S3Request;
import dev.verbena.values.CompletionStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;

/**
 * Calls end while the server still works on them; it accesses their memory afterwards, when other
 * calls are under way. The property {@code verbena.s3.rounds} is the number of calls that end so.
 */
@Timeout(3600)
class LateAccessTest {
  private static final int ROUNDS = Integer.getInteger("verbena.s3.rounds", 200);
  private static final int THREADS = 8;
  private static final int SIZE = 512 << 10;
  private static final int OTHERS = 3;
  private static final int MOST_TRIES = 100;
  private static final String RANGE = "bytes=0-" + (SIZE - 1);

  private final Map<String, Hold> holds = new ConcurrentHashMap<>();
  private final AtomicLong nanos = new AtomicLong();
  private Rig rig;
  private S3Client client;

  /** An interrupt does not end the wait for a response, which is blocked in a socket. */
  private S3Client hasty;

  private S3AsyncClient asyncClient;

  /** How a call ends. */
  private enum Ending {
    ATTEMPT_TIMEOUT,
    CALL_TIMEOUT,
    INTERRUPT,
    CANCEL
  }

  /** A request that the server holds before it moves data. */
  private static final class Hold {
    final CompletableFuture<String> token = new CompletableFuture<>();
    final CountDownLatch opened = new CountDownLatch(1);

    void pass(S3Request request) {
      token.complete(request.token().orElseThrow());
      try {
        opened.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC);
    rig.settings.put("maxBytes", "1m");
    rig.settings.put("poolBytes", "16m");
    rig.settings.put("timeout", "0.4s");
    Pause.use(() -> nanos.addAndGet(Duration.ofMinutes(6).toNanos())); // Each has ended.
    rig.server
        .faults()
        .when(
            request -> {
              Hold hold = request.token().isEmpty() ? null : holds.get(request.key());
              if (hold != null) {
                hold.pass(request);
              }
              return false;
            });
    for (int i = 0; i < OTHERS; i++) {
      Program.store(rig, "other" + i, other(i));
    }
    client = rig.client();
    hasty =
        rig.client(
            S3Client.builder()
                .httpClientBuilder(
                    Apache5HttpClient.builder().socketTimeout(Duration.ofMillis(300))));
    asyncClient = rig.asyncClient();
  }

  @AfterEach
  void close() {
    holds.values().forEach(hold -> hold.opened.countDown());
    Pause.use(System::nanoTime);
    rig.close();
  }

  private static byte[] other(int index) {
    byte[] data = new byte[SIZE];
    Arrays.fill(data, (byte) (index + 1));
    return data;
  }

  @Test
  void noLaterCallIsTouched() throws Exception {
    AtomicInteger next = new AtomicInteger();
    List<FutureTask<Void>> tasks = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      FutureTask<Void> task =
          new FutureTask<>(
              () -> {
                for (int round = next.getAndIncrement();
                    round < ROUNDS;
                    round = next.getAndIncrement()) {
                  for (int tries = 0; !round(round); tries++) {
                    assertTrue(tries < MOST_TRIES, "no call sends a token");
                  }
                }
                return null;
              });
      tasks.add(task);
      Thread.ofPlatform().start(task);
    }
    for (FutureTask<Void> task : tasks) {
      task.get();
    }
    assertTrue(
        rig.counter(S3Counter.GET_BYTES) >= (long) ROUNDS * SIZE,
        () -> "too few of the others went by RDMA: " + S3Rdma.counters().get(rig.endpoint()));
    Until.holds(
        "all memory is free",
        () -> {
          System.gc(); // For cancelled calls.
          return rig.used().bytes() == rig.used().freeBytes();
        });
    assertTrue(rig.used().bytes() <= 16 << 20);
  }

  /** After a failure few calls go by RDMA until others have succeeded: tells that many have. */
  private void widen() {
    for (int i = 0; i < 2 * THREADS * (1 + OTHERS); i++) {
      rig.used().moved(dev.verbena.s3.Operation.GET_OBJECT, 0);
    }
  }

  /** Returns whether the call has sent a token. */
  private boolean round(int round) throws Exception {
    Ending ending = Ending.values()[round % 4];
    boolean isGet = (round & 4) == 0;
    boolean isAsync = ending == Ending.CANCEL || ending != Ending.INTERRUPT && (round & 8) == 0;
    String key = "victim" + round;
    byte[] data = Rig.random(SIZE);
    if (isGet) {
      Program.store(rig, key, data);
    }
    Hold hold = new Hold();
    holds.put(key, hold);
    widen();
    FutureTask<byte[]> call =
        new FutureTask<>(() -> isGet ? got(key, ending) : put(key, data, ending));
    CompletableFuture<?> future = null;
    Thread thread = null;
    if (isAsync) {
      future =
          isGet
              ? asyncClient.getObject(get(key, ending), AsyncResponseTransformer.toBytes())
              : asyncClient.putObject(put(key, ending), AsyncRequestBody.fromBytes(data));
    } else {
      thread = Thread.ofPlatform().start(call);
    }
    CompletableFuture<?> asked = future;
    Until.holds(
        "the server has the token, or the call has ended before",
        () -> hold.token.isDone() || (asked == null ? call.isDone() : asked.isDone()));
    switch (ending) {
      case INTERRUPT -> thread.interrupt();
      case CANCEL -> future.cancel(true); // Unless it has ended before.
      default -> {}
    }
    if (isAsync) {
      Until.holds("the call ends", asked::isDone);
    } else {
      assertEnd(call, isGet ? data : null);
    }
    boolean isOffered = hold.token.isDone();
    if (isOffered) {
      assertWithdrawn(hold.token.join(), isGet);
    }
    hold.opened.countDown();
    holds.remove(key);
    if (rig.server.objects().containsKey("/" + Rig.BUCKET + "/" + key)) {
      assertArrayEquals(data, rig.stored(key));
    }
    rig.server.objects().remove("/" + Rig.BUCKET + "/" + key);
    rig.server.requests().clear();
    return isOffered;
  }

  private void assertWithdrawn(String token, boolean isGet) throws Exception {
    widen();
    List<ResponseInputStream<GetObjectResponse>> others = new ArrayList<>();
    for (int i = 0; i < OTHERS; i++) {
      int index = i;
      others.add(client.getObject(b -> b.bucket(Rig.BUCKET).key("other" + index).range(RANGE)));
    }
    byte[] garbage = Rig.random(SIZE + 1);
    CompletionStatus _ = access(token, isGet, garbage);
    // The bridge may be told later, or never: until then no other call has the memory.
    Until.holds(
        "the memory is withdrawn",
        () -> access(token, isGet, garbage) == CompletionStatus.REM_ACCESS_ERR);
    for (int i = 0; i < OTHERS; i++) {
      try (var other = others.get(i)) {
        assertArrayEquals(other(i), other.readAllBytes());
      }
    }
  }

  private CompletionStatus access(String token, boolean isGet, byte[] data) {
    return isGet
        ? rig.server.lateWrite(token, Arrays.copyOf(data, SIZE))
        : rig.server.lateRead(token);
  }

  private static void assertEnd(FutureTask<byte[]> call, byte[] data) throws Exception {
    try {
      byte[] result = call.get();
      if (data != null) {
        assertArrayEquals(data, result);
      }
    } catch (ExecutionException e) {
      assertTrue(e.getCause() instanceof SdkClientException, e.toString());
    }
  }

  private static AwsRequestOverrideConfiguration end(Ending ending) {
    AwsRequestOverrideConfiguration.Builder builder = AwsRequestOverrideConfiguration.builder();
    switch (ending) {
      case ATTEMPT_TIMEOUT -> builder.apiCallAttemptTimeout(Duration.ofMillis(150));
      case CALL_TIMEOUT -> builder.apiCallTimeout(Duration.ofMillis(150));
      default -> {}
    }
    return builder.build();
  }

  private static GetObjectRequest get(String key, Ending ending) {
    return GetObjectRequest.builder()
        .bucket(Rig.BUCKET)
        .key(key)
        .range(RANGE)
        .overrideConfiguration(end(ending))
        .build();
  }

  private static PutObjectRequest put(String key, Ending ending) {
    return PutObjectRequest.builder()
        .bucket(Rig.BUCKET)
        .key(key)
        .overrideConfiguration(end(ending))
        .build();
  }

  private byte[] got(String key, Ending ending) {
    S3Client used = ending == Ending.INTERRUPT ? hasty : client;
    return used.getObjectAsBytes(get(key, ending)).asByteArray();
  }

  private byte[] put(String key, byte[] data, Ending ending) {
    S3Client used = ending == Ending.INTERRUPT ? hasty : client;
    used.putObject(put(key, ending), RequestBody.fromBytes(data));
    return data;
  }

  /** The response comes after the memory was withdrawn. */
  @Test
  void lateResponsesAreNotDelivered() throws Exception {
    for (boolean isAsync : new boolean[] {false, true}) {
      Program program = Program.of(rig, isAsync);
      Program.store(rig, Program.KEY, other(7));
      var gate = rig.server.faults().holdBeforeAnswer(1);
      var read = new FutureTask<>(() -> program.read(RANGE));
      long before = rig.counter(S3Counter.DISCARDED);
      Thread.ofPlatform().start(read);
      gate.awaitRequest();
      Until.holds("the memory is withdrawn", () -> rig.counter(S3Counter.DISCARDED) > before);
      gate.open();
      assertArrayEquals(other(7), read.get());
    }
  }

  /** A PUT whose response comes after the memory was withdrawn has succeeded, or is repeated. */
  @Test
  void lateResponsesOfPutAreRight() throws Exception {
    for (boolean isAsync : new boolean[] {false, true}) {
      for (boolean isBefore : new boolean[] {false, true}) {
        rig.server.objects().clear();
        rig.server.requests().clear();
        Program program = Program.of(rig, isAsync);
        var gate =
            isBefore
                ? rig.server.faults().holdBeforeTransfer(1)
                : rig.server.faults().holdBeforeAnswer(1);
        var write =
            new FutureTask<Void>(
                () -> {
                  program.put(other(9));
                  return null;
                });
        long before = rig.counter(S3Counter.DISCARDED);
        Thread.ofPlatform().start(write);
        gate.awaitRequest();
        Until.holds("the memory is withdrawn", () -> rig.counter(S3Counter.DISCARDED) > before);
        gate.open();
        write.get();
        assertArrayEquals(other(9), rig.stored(Program.KEY));
        assertEquals(isBefore ? 2 : 1, Program.requests(rig, Operation.PUT_OBJECT));
      }
    }
  }
}
