package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.s3.server.Gate;
import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import dev.verbena.values.CompletionStatus;
import java.io.ByteArrayInputStream;
import java.io.SequenceInputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.UploadPartRequest;

/** The memory that is registered is that of the program: nothing is copied. */
class SegmentsTest {
  private static final int SIZE = 1 << 20;
  private static final PutObjectRequest PUT =
      PutObjectRequest.builder().bucket(Rig.BUCKET).key("k").build();
  private static final GetObjectRequest GET =
      GetObjectRequest.builder().bucket(Rig.BUCKET).key("k").range("bytes=0-" + (SIZE - 1)).build();

  private Rig rig;
  private S3Client client;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC);
    client = rig.client();
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static byte[] bytes(MemorySegment segment) {
    return segment.toArray(ValueLayout.JAVA_BYTE);
  }

  private byte[] fill(S3Buffer buffer, int seed) {
    byte[] data = Rig.random(SIZE);
    data[0] = (byte) seed;
    buffer.segment().copyFrom(MemorySegment.ofArray(data));
    return data;
  }

  @Test
  void aBufferIsStoredAgainAndAgain() {
    try (S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      for (int i = 0; i < 3; i++) {
        byte[] data = fill(buffer, i);
        client.putObject(buffer.in(PUT), buffer.body());
        assertArrayEquals(data, rig.stored("k"));
      }
    }
    assertEquals(0, rig.server.counters().httpReceived(Operation.PUT_OBJECT));
    assertEquals(1, rig.counter(S3Counter.REGISTRATIONS), "no other buffer was used");
    assertEquals(rig.used().bytes(), rig.used().freeBytes());
  }

  @Test
  void aBufferIsStoredAsAPart() {
    String upload = client.createMultipartUpload(b -> b.bucket(Rig.BUCKET).key("k")).uploadId();
    try (S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      byte[] data = fill(buffer, 1);
      UploadPartRequest part =
          UploadPartRequest.builder()
              .bucket(Rig.BUCKET)
              .key("k")
              .uploadId(upload)
              .partNumber(1)
              .build();
      String tag = client.uploadPart(buffer.in(part), buffer.body()).eTag();
      client.completeMultipartUpload(
          b ->
              b.bucket(Rig.BUCKET)
                  .key("k")
                  .uploadId(upload)
                  .multipartUpload(
                      m -> m.parts(CompletedPart.builder().partNumber(1).eTag(tag).build())));
      assertArrayEquals(data, rig.stored("k"));
    }
    assertEquals(0, rig.server.counters().httpReceived(Operation.UPLOAD_PART));
  }

  @Test
  void aBufferThatIsDeclinedIsSentByHttp() {
    rig.server.profile(Profile.DECLINES_BY_ERROR);
    try (S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      byte[] data = fill(buffer, 1);
      client.putObject(buffer.in(PUT), buffer.body());
      assertArrayEquals(data, rig.stored("k"));
      assertEquals(SIZE, rig.server.counters().httpReceived(Operation.PUT_OBJECT), 1000);
      assertEquals(1, rig.counter(S3Counter.DISCARDED), "the server may still read it");
      assertNotEquals(CompletionStatus.SUCCESS, rig.server.lateRead(token()));
      assertArrayEquals(data, bytes(buffer.segment()));
      rig.server.profile(Profile.SPEC);
      Pause.use(() -> System.nanoTime() + Duration.ofHours(1).toNanos());
      client.putObject(buffer.in(PUT.toBuilder().key("again").build()), buffer.body());
      assertArrayEquals(data, rig.stored("again"));
      assertEquals(1, rig.counter(S3Counter.PUT), "it is registered again");
    } finally {
      Pause.use(System::nanoTime);
    }
    assertEquals(rig.used().bytes(), rig.used().freeBytes());
  }

  @Test
  void aBufferWhoseEndpointIsPausedIsSentByHttp() {
    rig.server.profile(Profile.DECLINES_BY_ERROR);
    client.putObject(PUT, RequestBody.fromBytes(new byte[SIZE]));
    try (S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      byte[] data = fill(buffer, 1);
      client.putObject(buffer.in(PUT), buffer.body());
      assertArrayEquals(data, rig.stored("k"));
      assertArrayEquals(data, bytes(buffer.segment()));
    }
  }

  @Test
  void twoCallsAtATimeShareABuffer() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(2);
        S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      byte[] data = fill(buffer, 1);
      Gate gate = rig.server.faults().holdBeforeTransfer(2);
      CompletableFuture<?> first =
          CompletableFuture.runAsync(
              () -> client.putObject(buffer.in(PUT), buffer.body()), threads);
      CompletableFuture<?> second =
          CompletableFuture.runAsync(
              () ->
                  client.putObject(buffer.in(PUT.toBuilder().key("other").build()), buffer.body()),
              threads);
      gate.awaitRequest();
      gate.awaitRequest();
      gate.open();
      CompletableFuture.allOf(first, second).join();
      assertArrayEquals(data, rig.stored("k"));
      assertArrayEquals(data, rig.stored("other"));
    }
    assertEquals(rig.used().bytes(), rig.used().freeBytes());
  }

  @Test
  void aClosedBufferIsRefused() {
    S3Buffer buffer = S3Rdma.allocate(SIZE);
    MemorySegment segment = buffer.segment();
    buffer.close();
    buffer.close();
    assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
    RuntimeException refused =
        assertThrows(RuntimeException.class, () -> client.putObject(buffer.in(PUT), buffer.body()));
    assertTrue(
        refused instanceof SdkException || refused instanceof IllegalStateException,
        refused::toString);
  }

  @Test
  void sizesArePositive() {
    assertThrows(IllegalArgumentException.class, () -> S3Rdma.allocate(0));
    assertThrows(IllegalArgumentException.class, () -> S3Rdma.allocate(-1));
  }

  @Test
  void aBufferLargerThanTheMostGoesByHttp() {
    rig.settings.put("maxBytes", Integer.toString(SIZE - 1));
    try (S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      byte[] data = fill(buffer, 1);
      rig.client().putObject(buffer.in(PUT), buffer.body());
      assertArrayEquals(data, rig.stored("k"));
      assertEquals(1, rig.counter(S3Counter.OVERSIZE));
    }
  }

  @Test
  void withoutADeviceABufferIsSentByHttp() {
    Devices.use(
        () -> {
          throw new VerbsException("ibv_get_device_list", Errno.ENOSYS, "no RDMA here");
        });
    try (S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      byte[] data = fill(buffer, 1);
      client.putObject(buffer.in(PUT), buffer.body());
      assertArrayEquals(data, rig.stored("k"));
    }
  }

  /** The server answers after its access has ended, and fails. */
  @Test
  void aBufferIsSentByHttpAfterTheTimeout() throws Exception {
    rig.settings.put("timeout", "0.2s");
    client = rig.client();
    try (ExecutorService threads = Executors.newSingleThreadExecutor();
        S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      byte[] data = fill(buffer, 1);
      Gate gate = rig.server.faults().holdBeforeTransfer(1);
      CompletableFuture<?> call =
          CompletableFuture.runAsync(
              () -> client.putObject(buffer.in(PUT), buffer.body()), threads);
      gate.awaitRequest();
      Until.holds("the access ends", () -> rig.counter(S3Counter.DISCARDED) == 1);
      gate.open();
      call.join();
      assertArrayEquals(data, rig.stored("k"));
      assertEquals(SIZE, rig.server.counters().httpReceived(Operation.PUT_OBJECT), 1000);
    }
  }

  /** No server reaches the memory by what another one was sent. */
  @Test
  void aBufferIsRegisteredForTheEndpointOfEachCall() throws Exception {
    try (Rig other = new Rig(Profile.SPEC);
        S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      byte[] data = fill(buffer, 1);
      S3Client second = other.client();
      Devices.use(() -> List.of(rig.device));
      client.putObject(buffer.in(PUT), buffer.body());
      Devices.use(() -> List.of(other.device));
      second.putObject(buffer.in(PUT), buffer.body());
      assertArrayEquals(data, rig.stored("k"));
      assertArrayEquals(data, other.stored("k"));
      assertEquals(1, rig.counter(S3Counter.PUT));
      assertEquals(1, other.counter(S3Counter.PUT));
      assertNotEquals(CompletionStatus.SUCCESS, rig.server.lateRead(token()));
    }
  }

  /** What is stored does not depend on the way. */
  @Test
  void aBodyThatIsNotTheBufferIsStored() {
    byte[] other = Rig.random(SIZE);
    other[0] = 2;
    try (S3Buffer buffer = S3Rdma.allocate(SIZE);
        S3Buffer second = S3Rdma.allocate(SIZE)) {
      fill(buffer, 1);
      client.putObject(buffer.in(PUT), RequestBody.fromBytes(other));
      assertArrayEquals(other, rig.stored("k"));
      byte[] data = fill(second, 3);
      client.putObject(buffer.in(PUT), second.body());
      assertArrayEquals(data, rig.stored("k"));
      rig.asyncClient().putObject(buffer.in(PUT), AsyncRequestBody.fromBytes(other)).join();
      assertArrayEquals(other, rig.stored("k"));
      ContentStreamProvider content = second.body().contentStreamProvider();
      RequestBody longer =
          RequestBody.fromContentProvider(
              () -> new SequenceInputStream(content.newStream(), content.newStream()),
              2 * SIZE,
              "x/y");
      client.putObject(second.in(PUT), longer);
      assertEquals(2 * SIZE, rig.stored("k").length);
    }
    assertEquals(4, rig.counter(S3Counter.PUT));
  }

  private String token() {
    return Program.tokens(rig).getLast();
  }

  @Test
  void aRangeStaysWhereTheServerWroteIt() {
    byte[] data = Rig.random(SIZE);
    client.putObject(PUT, RequestBody.fromBytes(data));
    MemorySegment kept;
    try (S3Segment segment = client.getObject(GET, S3Rdma.toSegment())) {
      kept = segment.segment();
      assertTrue(segment.isByRdma());
      assertArrayEquals(data, bytes(kept));
      assertEquals(SIZE, segment.response().contentLength());
      assertThrows(
          IllegalArgumentException.class, () -> kept.set(ValueLayout.JAVA_BYTE, 0, (byte) 0));
      byte[] other = client.getObjectAsBytes(GET).asByteArray();
      assertArrayEquals(data, other);
      assertArrayEquals(data, bytes(kept), "another call does not use the memory");
    }
    assertThrows(IllegalStateException.class, () -> kept.get(ValueLayout.JAVA_BYTE, 0));
    assertEquals(rig.used().bytes(), rig.used().freeBytes());
  }

  @Test
  void aRangeByHttpIsASegmentToo() {
    byte[] data = Arrays.copyOf(Rig.random(SIZE), 1000);
    client.putObject(PUT, RequestBody.fromBytes(data));
    try (S3Segment segment =
        client.getObject(b -> b.bucket(Rig.BUCKET).key("k"), S3Rdma.toSegment())) {
      assertFalse(segment.isByRdma());
      assertArrayEquals(data, bytes(segment.segment()));
    }
  }

  /** A server must not name what another one has written. */
  @Test
  void theHeaderOfASegmentCannotBeGuessed() throws Exception {
    client.putObject(PUT, RequestBody.fromBytes(Rig.random(SIZE)));
    try (var first = client.getObject(GET);
        var second = client.getObject(GET)) {
      UUID one = UUID.fromString(header(first.response()));
      UUID other = UUID.fromString(header(second.response()));
      assertEquals(4, one.version(), "random");
      assertNotEquals(one, other);
    }
  }

  private static String header(GetObjectResponse response) {
    return response.sdkHttpResponse().firstMatchingHeader(SegmentTransformer.HEADER).orElseThrow();
  }

  @Test
  void aBodyOfUnknownLengthIsASegmentToo() throws Exception {
    byte[] data = Rig.random(100_000);
    try (S3Segment segment =
        S3Rdma.toSegment()
            .transform(
                (GetObjectResponse)
                    GetObjectResponse.builder()
                        .sdkHttpResponse(SdkHttpResponse.builder().statusCode(200).build())
                        .build(),
                AbortableInputStream.create(new ByteArrayInputStream(data)))) {
      assertArrayEquals(data, bytes(segment.segment()));
    }
  }

  @Test
  void aFailedGetLeavesNothing() {
    assertThrows(
        SdkException.class,
        () -> client.getObject(GET.toBuilder().key("none").build(), S3Rdma.toSegment()));
    assertEquals(rig.used().bytes(), rig.used().freeBytes());
  }
}
