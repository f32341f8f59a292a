package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.async.BlockingInputStreamAsyncRequestBody;
import software.amazon.awssdk.core.async.ResponsePublisher;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.transfer.s3.S3TransferManager;

/**
 * Programs that know nothing of RDMA. Their objects are right whatever the server does with tokens;
 * if it takes them, no object, part or range is in an HTTP body.
 */
class ProgramsTest {
  private static final int SIZE = 1_500_001;
  private static final int LARGE = 20 << 20;
  private static final Consumer<PutObjectRequest.Builder> PUT = b -> b.bucket(Rig.BUCKET).key("k");
  private static final Consumer<GetObjectRequest.Builder> GET = b -> b.bucket(Rig.BUCKET).key("k");
  private static final Consumer<GetObjectRequest.Builder> RANGE =
      GET.andThen(b -> b.range("bytes=1000-1000999"));

  @TempDir private Path folder;

  /** Returns how many bytes a server sends by HTTP although it takes tokens. */
  private interface Run {
    long of(Rig rig, Path folder) throws Exception;
  }

  private enum Program {
    PARTS(ProgramsTest::storesParts),
    TRANSFER_MANAGER(ProgramsTest::storesFiles),
    CONFIGURED(ProgramsTest::configures),
    FILE(ProgramsTest::readsToFile),
    STREAM(ProgramsTest::readsToStream),
    PUBLISHER(ProgramsTest::readsToPublisher);

    private final Run run;

    Program(Run run) {
      this.run = run;
    }
  }

  @ParameterizedTest
  @EnumSource
  void noBodyHasAnObject(Program program) throws Exception {
    try (Rig rig = new Rig(Profile.SPEC)) {
      long unbounded = program.run.of(rig, folder);
      assertEquals(0, rig.server.counters().httpReceived(Operation.PUT_OBJECT));
      assertEquals(0, rig.server.counters().httpReceived(Operation.UPLOAD_PART));
      assertEquals(unbounded, rig.server.counters().httpSent(Operation.GET_OBJECT));
      assertEquals(List.of(), List.copyOf(rig.server.errors()));
    }
  }

  @ParameterizedTest
  @EnumSource
  void objectsOfServersThatDeclineAreRight(Program program) throws Exception {
    for (Profile profile : List.of(Profile.DECLINES_BY_ERROR, Profile.IGNORANT)) {
      try (Rig rig = new Rig(profile)) {
        program.run.of(rig, folder);
        assertTrue(rig.server.requests().stream().anyMatch(r -> r.token().isPresent()));
      }
    }
  }

  private static byte[] range(byte[] data) {
    return Arrays.copyOfRange(data, 1000, 1_001_000);
  }

  private static long storesParts(Rig rig, Path folder) {
    S3AsyncClient client = rig.client(S3AsyncClient.builder().multipartEnabled(true));
    byte[] data = Rig.random(LARGE);
    client.putObject(PUT, AsyncRequestBody.fromBytes(data)).join();
    assertArrayEquals(data, rig.stored("k"));
    assertEquals(0, rig.server.counters().requests(Operation.PUT_OBJECT), "it was not in parts");
    byte[] range = client.getObject(RANGE, AsyncResponseTransformer.toBytes()).join().asByteArray();
    assertArrayEquals(range(data), range);
    byte[] all = client.getObject(GET, AsyncResponseTransformer.toBytes()).join().asByteArray();
    assertArrayEquals(data, all);
    return LARGE; // Of the parts that are read by their numbers.
  }

  private static long storesFiles(Rig rig, Path folder) throws Exception {
    byte[] data = Rig.random(LARGE);
    Path source = Files.write(folder.resolve("source"), data);
    Path target = folder.resolve("target");
    try (S3TransferManager manager =
        S3TransferManager.builder()
            .s3Client(rig.client(S3AsyncClient.builder().multipartEnabled(true)))
            .build()) {
      manager.uploadFile(b -> b.putObjectRequest(PUT).source(source)).completionFuture().join();
      assertArrayEquals(data, rig.stored("k"));
      manager
          .downloadFile(b -> b.getObjectRequest(GET).destination(target))
          .completionFuture()
          .join();
      assertArrayEquals(data, Files.readAllBytes(target));
      manager
          .downloadFile(b -> b.getObjectRequest(RANGE).destination(target))
          .completionFuture()
          .join();
      assertArrayEquals(range(data), Files.readAllBytes(target));
    }
    return LARGE;
  }

  private static long configures(Rig rig, Path folder) {
    return objects(rig, rig.client(rig.withProperties(() -> S3Rdma.configure(S3Client.builder()))));
  }

  static long objects(Rig rig, S3Client client) {
    byte[] data = Rig.random(SIZE);
    client.putObject(PUT, RequestBody.fromBytes(data));
    assertArrayEquals(data, rig.stored("k"));
    assertArrayEquals(range(data), client.getObjectAsBytes(RANGE).asByteArray());
    return 0;
  }

  private static long readsToFile(Rig rig, Path folder) throws Exception {
    S3AsyncClient client = rig.asyncClient();
    byte[] data = Rig.random(SIZE);
    Path source = Files.write(folder.resolve("source"), data);
    Path target = folder.resolve("target");
    Files.deleteIfExists(target);
    client.putObject(PUT, AsyncRequestBody.fromFile(source)).join();
    assertArrayEquals(data, rig.stored("k"));
    client.getObject(RANGE, AsyncResponseTransformer.toFile(target)).join();
    assertArrayEquals(range(data), Files.readAllBytes(target));
    return 0;
  }

  /** The content can be read once: that of a repeated attempt comes from the memory. */
  private static long readsToStream(Rig rig, Path folder) throws Exception {
    S3AsyncClient client = rig.asyncClient();
    byte[] data = Rig.random(SIZE);
    BlockingInputStreamAsyncRequestBody body = AsyncRequestBody.forBlockingInputStream((long) SIZE);
    CompletableFuture<?> stored = client.putObject(PUT, body);
    body.writeInputStream(new ByteArrayInputStream(data));
    stored.join();
    assertArrayEquals(data, rig.stored("k"));
    try (InputStream stream =
        client.getObject(RANGE, AsyncResponseTransformer.toBlockingInputStream()).join()) {
      assertArrayEquals(range(data), stream.readAllBytes());
    }
    return 0;
  }

  private static long readsToPublisher(Rig rig, Path folder) {
    S3AsyncClient client = rig.asyncClient();
    byte[] data = Rig.random(SIZE);
    client
        .putObject(
            PUT.andThen(b -> b.contentLength((long) SIZE)),
            AsyncRequestBody.fromPublisher(AsyncRequestBody.fromBytes(data)))
        .join();
    assertArrayEquals(data, rig.stored("k"));
    ResponsePublisher<GetObjectResponse> published =
        client.getObject(RANGE, AsyncResponseTransformer.toPublisher()).join();
    ByteArrayOutputStream received = new ByteArrayOutputStream();
    published.subscribe(buffer -> received.writeBytes(bytes(buffer))).join();
    assertArrayEquals(range(data), received.toByteArray());
    return 0;
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  @Test
  void aClientThatIsConfiguredAndHasTheClassPathDoesNothingTwice() throws Exception {
    try (Rig rig = new Rig(Profile.SPEC)) {
      configures(rig, folder);
      S3Client client = rig.client(rig.withProperties(() -> S3Rdma.configure(S3Client.builder())));
      client.putObject(PUT, RequestBody.fromBytes(new byte[1000]));
      assertEquals(3, rig.server.requests().size());
      assertEquals(1, rig.counter(S3Counter.PUT));
      assertEquals(1, rig.counter(S3Counter.GET));
      assertEquals(2, rig.counter(S3Counter.REGISTRATIONS));
      assertEquals(1, rig.counter(S3Counter.BELOW_THRESHOLD));
    }
  }

  @Test
  void aClientThatIsConfiguredAndHasTheClassPathCountsAResponseOnce() throws Exception {
    try (Rig rig = new Rig(Profile.DECLINES_BY_ERROR)) {
      configures(rig, folder);
      assertEquals(2, rig.counter(S3Counter.DECLINED_BY_SERVER));
      assertEquals(2, rig.counter(S3Counter.REPEATED));
      assertEquals(0, rig.counter(S3Counter.FAILED));
    }
  }
}
