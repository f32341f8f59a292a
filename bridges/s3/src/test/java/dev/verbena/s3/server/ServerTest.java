package dev.verbena.s3.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.URL;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.ResponseBytes;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.model.ChecksumMode;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Response;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;
import software.amazon.awssdk.services.s3.model.S3Exception;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

/** The server answers the AWS SDK, and moves the data of requests with tokens. */
class ServerTest {
  private static final String PATH = "/bucket/object";
  private static final String UNSIGNED = "UNSIGNED-PAYLOAD";
  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.2");
  private static final InetAddress CLIENT6 = InetAddress.ofLiteral("2001:db8::2");
  private static final int MIB = 1 << 20;

  private SoftNetwork network;
  private S3Server server;
  private S3Client s3;
  private DcClient client;

  @BeforeEach
  void start() throws IOException {
    network = SoftNetwork.create().profile("connectx5");
    server =
        S3Server.start(
            LOOPBACK,
            network.addDevice(
                "server", InetAddress.ofLiteral("192.0.2.1"), InetAddress.ofLiteral("2001:db8::1")),
            Profile.SPEC);
    s3 = client(S3Server.SECRET_KEY);
    client = new DcClient(network.addDevice("client", CLIENT, CLIENT6), CLIENT, server.uri());
  }

  @AfterEach
  void close() {
    client.close();
    s3.close();
    server.close();
    network.close();
    assertEquals(List.of(), List.copyOf(server.errors()));
  }

  private S3Client client(String secret) {
    return S3Client.builder()
        .endpointOverride(server.uri())
        .forcePathStyle(true)
        .region(Region.US_EAST_1)
        .credentialsProvider(credentials(secret))
        .build();
  }

  private static AwsCredentialsProvider credentials(String secret) {
    return StaticCredentialsProvider.create(
        AwsBasicCredentials.create(S3Server.ACCESS_KEY, secret));
  }

  private static byte[] data(int size) {
    byte[] data = new byte[size];
    new Random(size).nextBytes(data);
    return data;
  }

  private String put(byte[] data) {
    return s3.putObject(r -> r.bucket("bucket").key("object"), RequestBody.fromBytes(data)).eTag();
  }

  private ResponseBytes<GetObjectResponse> get(String range) {
    return s3.getObjectAsBytes(r -> r.bucket("bucket").key("object").range(range));
  }

  private static String crc32(byte[] data) {
    return ChecksumAlgorithm.base64(ChecksumAlgorithm.CRC32.of(data));
  }

  // HTTP

  @Test
  void objectsAreStoredAndReturned() {
    byte[] data = data(100_000);
    s3.putObject(
        r -> r.bucket("bucket").key("a b/ü+%").contentType("text/x").contentEncoding("gzip"),
        RequestBody.fromBytes(data));
    StoredObject stored = server.objects().get("/bucket/a b/ü+%");
    assertArrayEquals(data, stored.data());
    assertEquals(crc32(data), stored.checksums().get("x-amz-checksum-crc32"));
    ResponseBytes<GetObjectResponse> got =
        s3.getObjectAsBytes(
            r -> r.bucket("bucket").key("a b/ü+%").checksumMode(ChecksumMode.ENABLED));
    assertArrayEquals(data, got.asByteArray());
    assertEquals("text/x", got.response().contentType());
    assertEquals("gzip", got.response().contentEncoding());
    assertEquals(crc32(data), got.response().checksumCRC32());
    assertTrue(server.counters().httpReceived(Operation.PUT_OBJECT) >= data.length);
    assertEquals(data.length, server.counters().httpSent(Operation.GET_OBJECT));
    assertEquals(1, server.counters().requests(Operation.GET_OBJECT));
    HeadObjectResponse head = s3.headObject(r -> r.bucket("bucket").key("a b/ü+%"));
    assertEquals(data.length, head.contentLength());
    assertEquals(stored.etag(), head.eTag());
    s3.deleteObject(r -> r.bucket("bucket").key("a b/ü+%"));
    assertTrue(server.objects().isEmpty());
    assertThrows(
        NoSuchKeyException.class, () -> s3.getObject(r -> r.bucket("bucket").key("a b/ü+%")));
  }

  @Test
  void rangesAreReturned() {
    byte[] data = data(1000);
    put(data);
    assertArrayEquals(Arrays.copyOfRange(data, 10, 20), get("bytes=10-19").asByteArray());
    assertArrayEquals(Arrays.copyOfRange(data, 990, 1000), get("bytes=990-").asByteArray());
    assertArrayEquals(Arrays.copyOfRange(data, 993, 1000), get("bytes=-7").asByteArray());
    assertEquals("bytes 993-999/1000", get("bytes=-7").response().contentRange());
    assertArrayEquals(data, get("bytes=0-5000").asByteArray());
    assertArrayEquals(data, get("bytes=-5000").asByteArray());
    assertEquals(416, assertThrows(S3Exception.class, () -> get("bytes=1000-")).statusCode());
  }

  @Test
  void conditionsAreChecked() {
    String etag = put(data(10));
    s3.getObject(r -> r.bucket("bucket").key("object").ifMatch(etag)).abort();
    assertEquals(
        412,
        assertThrows(
                S3Exception.class,
                () -> s3.getObject(r -> r.bucket("bucket").key("object").ifMatch("\"x\"")))
            .statusCode());
    assertEquals(
        304,
        assertThrows(
                S3Exception.class,
                () -> s3.getObject(r -> r.bucket("bucket").key("object").ifNoneMatch(etag)))
            .statusCode());
    assertEquals(
        412,
        assertThrows(
                S3Exception.class,
                () ->
                    s3.putObject(
                        r -> r.bucket("bucket").key("object").ifNoneMatch("*"),
                        RequestBody.empty()))
            .statusCode());
  }

  @Test
  void partsBecomeAnObject() {
    byte[] data = data(30_000);
    String id =
        s3.createMultipartUpload(r -> r.bucket("bucket").key("object").checksumAlgorithm("CRC32"))
            .uploadId();
    List<CompletedPart> parts =
        IntStream.rangeClosed(1, 3)
            .mapToObj(
                n -> {
                  byte[] part = Arrays.copyOfRange(data, (n - 1) * 10_000, n * 10_000);
                  var response =
                      s3.uploadPart(
                          r -> r.bucket("bucket").key("object").uploadId(id).partNumber(n),
                          RequestBody.fromBytes(part));
                  return CompletedPart.builder()
                      .partNumber(n)
                      .eTag(response.eTag())
                      .checksumCRC32(response.checksumCRC32())
                      .build();
                })
            .toList();
    var completed =
        s3.completeMultipartUpload(
            r ->
                r.bucket("bucket").key("object").uploadId(id).multipartUpload(m -> m.parts(parts)));
    assertTrue(completed.eTag().endsWith("-3\""), completed.eTag());
    assertTrue(completed.checksumCRC32().endsWith("-3"), completed.checksumCRC32());
    assertArrayEquals(data, get(null).asByteArray());
    ResponseBytes<GetObjectResponse> second =
        s3.getObjectAsBytes(
            r -> r.bucket("bucket").key("object").partNumber(2).checksumMode(ChecksumMode.ENABLED));
    assertArrayEquals(Arrays.copyOfRange(data, 10_000, 20_000), second.asByteArray());
    assertEquals(3, second.response().partsCount());
    assertEquals(parts.get(1).checksumCRC32(), second.response().checksumCRC32());
    String aborted = s3.createMultipartUpload(r -> r.bucket("bucket").key("other")).uploadId();
    s3.abortMultipartUpload(r -> r.bucket("bucket").key("other").uploadId(aborted));
    assertEquals(
        404,
        assertThrows(
                S3Exception.class,
                () ->
                    s3.uploadPart(
                        r -> r.bucket("bucket").key("other").uploadId(aborted).partNumber(1),
                        RequestBody.empty()))
            .statusCode());
  }

  @Test
  void theAsynchronousClientSendsPartsInParallel() {
    byte[] data = data(18 * MIB);
    try (S3AsyncClient async =
        S3AsyncClient.builder()
            .endpointOverride(server.uri())
            .forcePathStyle(true)
            .region(Region.US_EAST_1)
            .credentialsProvider(credentials(S3Server.SECRET_KEY))
            .multipartEnabled(true)
            .build()) {
      async
          .putObject(r -> r.bucket("bucket").key("object"), AsyncRequestBody.fromBytes(data))
          .join();
      assertEquals(3, server.objects().get(PATH).parts().size());
      assertArrayEquals(
          data,
          async
              .getObject(r -> r.bucket("bucket").key("object"), AsyncResponseTransformer.toBytes())
              .join()
              .asByteArray());
    }
    assertEquals(3, server.counters().requests(Operation.UPLOAD_PART));
    assertEquals(3, server.counters().requests(Operation.GET_OBJECT), "by part number");
  }

  @Test
  void presignedRequestsAreNotVerified() throws Exception {
    put(data(10));
    try (S3Presigner presigner =
        S3Presigner.builder()
            .endpointOverride(server.uri())
            .serviceConfiguration(S3Configuration.builder().pathStyleAccessEnabled(true).build())
            .region(Region.US_EAST_1)
            .credentialsProvider(credentials(S3Server.SECRET_KEY))
            .build()) {
      URL url =
          presigner
              .presignGetObject(
                  p ->
                      p.signatureDuration(Duration.ofMinutes(1))
                          .getObjectRequest(r -> r.bucket("bucket").key("object")))
              .url();
      try (InputStream in = url.openStream()) {
        assertArrayEquals(data(10), in.readAllBytes());
      }
    }
  }

  @Test
  void bucketsAndListsOfObjects() {
    s3.createBucket(r -> r.bucket("second"));
    s3.headBucket(r -> r.bucket("second"));
    assertEquals(
        404,
        assertThrows(S3Exception.class, () -> s3.headBucket(r -> r.bucket("third"))).statusCode());
    for (String key : List.of("a", "b/1", "b/2", "c&<", "d")) {
      s3.putObject(r -> r.bucket("second").key(key), RequestBody.fromString("x"));
    }
    ListObjectsV2Response page =
        s3.listObjectsV2(r -> r.bucket("second").delimiter("/").maxKeys(3));
    assertEquals(List.of("a", "c&<"), page.contents().stream().map(o -> o.key()).toList());
    assertEquals("b/", page.commonPrefixes().getFirst().prefix());
    assertTrue(page.isTruncated());
    String next = page.nextContinuationToken();
    page = s3.listObjectsV2(r -> r.bucket("second").delimiter("/").continuationToken(next));
    assertEquals(List.of("d"), page.contents().stream().map(o -> o.key()).toList());
    assertEquals(2, s3.listObjectsV2(r -> r.bucket("second").prefix("b/")).keyCount());
  }

  @Test
  void aWrongSecretIsRefused() {
    try (S3Client other = client("another secret")) {
      S3Exception refused =
          assertThrows(
              S3Exception.class, () -> other.getObject(r -> r.bucket("bucket").key("object")));
      assertEquals(403, refused.statusCode());
      assertEquals("SignatureDoesNotMatch", refused.awsErrorDetails().errorCode());
    }
  }

  @Test
  void aWrongChecksumIsRefused() {
    S3Exception refused =
        assertThrows(
            S3Exception.class,
            () ->
                s3.putObject(
                    r -> r.bucket("bucket").key("object").checksumCRC32C("AAAAAA=="),
                    RequestBody.fromString("x")));
    assertEquals(400, refused.statusCode());
    assertEquals("BadDigest", refused.awsErrorDetails().errorCode());
    assertTrue(server.objects().isEmpty());
  }

  @Test
  void checksumsHaveTheValuesOfTheirCatalogues() {
    byte[] check = "123456789".getBytes(UTF_8);
    assertArrayEquals(
        HexFormat.of().parseHex("ae8b14860a799888"), ChecksumAlgorithm.CRC64NVME.of(check));
    assertArrayEquals(HexFormat.of().parseHex("e3069283"), ChecksumAlgorithm.CRC32C.of(check));
  }

  // RDMA

  private MemoryRegion filled(byte[] data) {
    MemoryRegion region = client.region(data.length, AccessFlag.REMOTE_READ);
    region.memory().asByteBuffer().put(data);
    return region;
  }

  private HttpResponse<byte[]> putByRdma(String token, byte[] checked) throws Exception {
    return client.send(
        "PUT", PATH, "x-amz-rdma-token", token, "x-amz-checksum-crc32", crc32(checked));
  }

  private static String header(HttpResponse<?> response, String name) {
    return response.headers().firstValue(name).orElse(null);
  }

  private static String reply(HttpResponse<?> response) {
    return header(response, "x-amz-rdma-reply");
  }

  private static String bytes(HttpResponse<?> response) {
    return header(response, "x-amz-rdma-bytes-transferred");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void putReadsTheMemoryOfTheClient(boolean isIpv6) throws Exception {
    byte[] data = data(3 * MIB + 5);
    if (isIpv6) {
      client.close();
      network.removeDevice("client");
      client = new DcClient(network.addDevice("client", CLIENT, CLIENT6), CLIENT6, server.uri());
    }
    MemoryRegion region = filled(data);
    String token = client.token(region, 0, data.length);
    assertEquals(Token.LENGTH, token.length());
    HttpResponse<byte[]> response = putByRdma(token, data);
    assertEquals(200, response.statusCode(), () -> new String(response.body(), UTF_8));
    assertEquals("200", reply(response));
    assertNull(bytes(response));
    assertArrayEquals(data, server.objects().get(PATH).data());
    assertEquals(server.objects().get(PATH).etag(), header(response, "etag"));
    assertEquals(0, server.counters().httpReceived(Operation.PUT_OBJECT));
    assertEquals(data.length, server.counters().rdmaRead());
    S3Request request = server.requests().element();
    assertEquals(token, request.token().orElseThrow());
    assertEquals(UNSIGNED, request.headers().get("x-amz-content-sha256"));
    assertTrue(request.signedHeaders().contains("x-amz-rdma-token"));
  }

  @Test
  void otherFormsOfTokens() throws Exception {
    byte[] data = data(100);
    MemoryRegion region = filled(data);
    String token = client.token(region, 0, 100);
    String suffix = ":%016x:%016x".formatted(region.start(), 100);
    assertEquals(200, putByRdma(token + suffix, data).statusCode());
    assertEquals(200, putByRdma(token + ";", data).statusCode());
    assertEquals(400, putByRdma(token + ":%016x:%016x".formatted(1, 100), data).statusCode());
    assertEquals(400, putByRdma(token.substring(1), data).statusCode());
    HttpResponse<byte[]> cuObj =
        client.send(
            "PUT",
            PATH,
            "X-CuObj-RDMA-Descr",
            token,
            "X-CuObj-Remote-Buf-Start",
            Long.toUnsignedString(region.start() + 10),
            "X-CuObj-Content-Length",
            "20");
    assertEquals(200, cuObj.statusCode());
    assertArrayEquals(Arrays.copyOfRange(data, 10, 30), server.objects().get(PATH).data());
    server.profile(Profile.NOOBAA);
    assertEquals(400, putByRdma(token + suffix, data).statusCode());
    assertEquals(200, putByRdma(token, data).statusCode());
  }

  @Test
  void aTokenMustBeSigned() throws Exception {
    MemoryRegion region = filled(data(100));
    String token = client.token(region, 0, 100);
    HttpResponse<byte[]> response = client.send("PUT", PATH, List.of("x-amz-rdma-token", token));
    assertEquals(403, response.statusCode());
    assertEquals(0, server.counters().rdmaRead());
  }

  @Test
  void aTokenExcludesABodyAndItsFraming() throws Exception {
    MemoryRegion region = filled(data(100));
    String token = client.token(region, 0, 100);
    for (String header : List.of("content-md5", "x-amz-trailer", "x-amz-decoded-content-length")) {
      assertEquals(
          400,
          client.send("PUT", PATH, List.of(header, "1"), "x-amz-rdma-token", token).statusCode(),
          header);
    }
    assertEquals(
        400,
        client
            .send("PUT", PATH, "x-amz-rdma-token", token, "content-encoding", "gzip,aws-chunked")
            .statusCode());
    assertEquals(
        200,
        client
            .send("PUT", PATH, "x-amz-rdma-token", token, "content-encoding", "gzip")
            .statusCode());
    assertEquals("gzip", server.objects().get(PATH).metadata().get("content-encoding"));
  }

  @Test
  void nothingIsStoredOfAPutThatFails() throws Exception {
    byte[] data = data(100);
    MemoryRegion region = filled(data);
    String token = client.token(region, 0, 100);
    assertEquals(400, putByRdma(token, new byte[0]).statusCode());
    MemoryRegion unreadable = client.region(100, AccessFlag.REMOTE_WRITE);
    assertEquals(500, putByRdma(client.token(unreadable, 0, 100), data).statusCode());
    assertEquals(1, server.counters().rdmaFailures());
    server.faults().next(1, Fault.ERROR_503_AFTER_TRANSFER);
    assertEquals(503, putByRdma(token, data).statusCode());
    server.faults().next(1, Fault.DROP_BEFORE_TRANSFER);
    assertThrows(IOException.class, () -> putByRdma(token, data));
    assertTrue(server.objects().isEmpty());
    for (int i = 0; i < 8; i++) { // Each initiator, also the one whose request failed.
      assertEquals(200, putByRdma(token, data).statusCode());
    }
  }

  private HttpResponse<byte[]> getByRdma(MemoryRegion region, long size, String... headers)
      throws Exception {
    String[] all = Arrays.copyOf(headers, headers.length + 2);
    all[headers.length] = "x-amz-rdma-token";
    all[headers.length + 1] = client.token(region, 0, size);
    return client.send("GET", PATH, all);
  }

  @Test
  void getWritesToTheMemoryOfTheClient() throws Exception {
    byte[] data = data(2 * MIB + 3);
    put(data);
    MemoryRegion region = client.region(3 * MIB, AccessFlag.REMOTE_WRITE);
    HttpResponse<byte[]> response =
        getByRdma(region, data.length, "x-amz-checksum-mode", "ENABLED");
    assertEquals(200, response.statusCode(), () -> new String(response.body(), UTF_8));
    assertEquals("200", reply(response));
    assertEquals(String.valueOf(data.length), bytes(response));
    assertEquals("0", header(response, "content-length"));
    assertEquals(crc32(data), header(response, "x-amz-checksum-crc32"));
    assertArrayEquals(data, DcClient.contents(region, 0, data.length));
    assertEquals(0, server.counters().httpSent(Operation.GET_OBJECT));
    assertEquals(data.length, server.counters().rdmaWritten());
    assertEquals(1, server.counters().rdmaUnreadable());

    HttpResponse<byte[]> ranged = getByRdma(region, 100, "Range", "bytes=50-149");
    assertEquals(206, ranged.statusCode());
    assertEquals("206", reply(ranged));
    assertEquals("bytes 50-149/" + data.length, header(ranged, "content-range"));
    assertArrayEquals(Arrays.copyOfRange(data, 50, 150), DcClient.contents(region, 0, 100));
    assertArrayEquals(
        Arrays.copyOfRange(data, 100, 200), DcClient.contents(region, 100, 200), "not written");
    assertEquals(400, getByRdma(region, 99, "Range", "bytes=50-149").statusCode());
  }

  @Test
  void aReadFollowsTheWriteWhereItIsAllowed() throws Exception {
    put(data(100));
    MemoryRegion region =
        client.domain.allocateMemory(
            100, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
    assertEquals("200", reply(getByRdma(region, 100)));
    assertEquals(0, server.counters().rdmaUnreadable());
    assertEquals(0, server.counters().rdmaRead(), "is not data");
  }

  @Test
  void requestsAreServedInParallel() throws Exception {
    byte[] data = data(MIB);
    put(data);
    List<MemoryRegion> regions =
        IntStream.range(0, 16).mapToObj(_ -> client.region(MIB, AccessFlag.REMOTE_WRITE)).toList();
    List<CompletableFuture<Integer>> answers =
        regions.stream()
            .map(
                region ->
                    CompletableFuture.supplyAsync(
                        () -> {
                          try {
                            return getByRdma(region, MIB).statusCode();
                          } catch (Exception e) {
                            throw new AssertionError(e);
                          }
                        }))
            .toList();
    for (int i = 0; i < regions.size(); i++) {
      assertEquals(200, answers.get(i).join());
      assertArrayEquals(data, DcClient.contents(regions.get(i), 0, MIB));
    }
  }

  @Test
  void aLateWriteFailsOnceTheRegionIsGone() throws Exception {
    put(data(100));
    MemoryRegion region = client.region(100, AccessFlag.REMOTE_WRITE);
    Gate gate = server.faults().holdBeforeTransfer(1);
    CompletableFuture<Integer> answer =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return getByRdma(region, 100).statusCode();
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            });
    gate.awaitRequest();
    String token = server.requests().stream().toList().getLast().token().orElseThrow();
    byte[] late = {1, 2, 3};
    assertEquals(CompletionStatus.SUCCESS, server.lateWrite(token, late));
    assertArrayEquals(late, DcClient.contents(region, 0, 3));
    region.close();
    assertEquals(CompletionStatus.REM_ACCESS_ERR, server.lateWrite(token, late));
    gate.open();
    assertEquals(500, answer.join());
  }

  @Test
  void faultsOfGet() throws Exception {
    byte[] data = data(100);
    put(data);
    MemoryRegion region = client.region(100, AccessFlag.REMOTE_WRITE);
    server.faults().next(1, Fault.NO_WRITE);
    assertEquals("100", bytes(getByRdma(region, 100)));
    assertArrayEquals(new byte[100], DcClient.contents(region, 0, 100));
    server.faults().next(1, Fault.SHORT_WRITE);
    assertEquals("100", bytes(getByRdma(region, 100)));
    assertArrayEquals(new byte[50], DcClient.contents(region, 50, 100));
    assertArrayEquals(Arrays.copyOf(data, 50), DcClient.contents(region, 0, 50));
    server.faults().next(1, Fault.WRONG_BYTE_COUNT, Fault.BODY_WITH_REPLY);
    HttpResponse<byte[]> response = getByRdma(region, 100);
    assertEquals("99", bytes(response));
    assertArrayEquals(data, response.body());
    server.faults().next(1, Fault.WRONG_DATA, Fault.WRONG_CHECKSUM);
    response = getByRdma(region, 100, "x-amz-checksum-mode", "ENABLED");
    assertEquals("AAAAAA==", header(response, "x-amz-checksum-crc32"));
    assertFalse(Arrays.equals(data, DcClient.contents(region, 0, 100)));
    server.faults().next(1, Fault.ERROR_500_AFTER_TRANSFER);
    assertEquals(500, getByRdma(region, 100).statusCode());
    assertArrayEquals(data, DcClient.contents(region, 0, 100));
    server.faults().next(1, Fault.NO_REPLY);
    assertNull(reply(getByRdma(region, 100)));
    server.faults().when(r -> r.key().equals("object"), Fault.DROP_AFTER_TRANSFER);
    assertThrows(IOException.class, () -> getByRdma(region, 100));
    server.faults().clear();
    assertEquals("200", reply(getByRdma(region, 100)));
  }

  // Profiles

  private record Answer(int status, String reply, int stored) {}

  private Answer put(byte[] data, String checksum) throws Exception {
    MemoryRegion region = filled(data);
    HttpResponse<byte[]> response =
        client.send(
            "PUT",
            PATH,
            "x-amz-rdma-token",
            client.token(region, 0, data.length),
            "x-amz-checksum-crc32",
            checksum);
    StoredObject stored = server.objects().remove(PATH);
    return new Answer(
        response.statusCode(), reply(response), stored == null ? -1 : stored.data().length);
  }

  @ParameterizedTest
  @EnumSource
  void profilesOfPut(Profile profile) throws Exception {
    server.profile(profile);
    byte[] data = data(100);
    Answer expected =
        switch (profile) {
          case SPEC, CEPH, NOOBAA, VERSITY, ELBENCHO -> new Answer(200, "200", 100);
          case AISTOR -> new Answer(200, null, 100);
          case RUSTFS, IGNORANT -> new Answer(400, null, -1);
          case IGNORANT_UNCHECKED -> new Answer(200, null, 0);
          case DECLINES_IN_SPEC_WAY -> new Answer(200, "501", -1);
          case DECLINES_BY_ERROR -> new Answer(501, "501", -1);
        };
    assertEquals(expected, put(data, crc32(data)));
  }

  @ParameterizedTest
  @EnumSource
  void profilesOfGet(Profile profile) throws Exception {
    byte[] data = data(100);
    put(data);
    server.profile(profile);
    MemoryRegion region = client.region(100, AccessFlag.REMOTE_WRITE);
    HttpResponse<byte[]> response = getByRdma(region, 100, "Range", "bytes=10-29");
    Answer expected =
        switch (profile) {
          case SPEC, AISTOR, NOOBAA -> new Answer(206, "206", 0);
          case CEPH, VERSITY -> new Answer(206, "200", 0);
          case ELBENCHO -> new Answer(200, "206", 0);
          case RUSTFS -> new Answer(400, null, -1);
          case IGNORANT, IGNORANT_UNCHECKED -> new Answer(206, null, 20);
          case DECLINES_IN_SPEC_WAY -> new Answer(206, "501", 20);
          case DECLINES_BY_ERROR -> new Answer(501, "501", -1);
        };
    int length = response.statusCode() >= 400 ? -1 : response.body().length;
    assertEquals(expected, new Answer(response.statusCode(), reply(response), length));
    if (length == 0) {
      assertEquals("20", bytes(response));
      assertArrayEquals(Arrays.copyOfRange(data, 10, 30), DcClient.contents(region, 0, 20));
    }
  }

  @Test
  void limitsOfProfiles() throws Exception {
    byte[] large = data(8 * MIB + 1);
    server.profile(Profile.CEPH);
    assertEquals(new Answer(503, null, -1), put(large, crc32(large)));
    put(large);
    MemoryRegion region = client.region(9 * MIB, AccessFlag.REMOTE_WRITE);
    assertEquals(503, getByRdma(region, 9 * MIB).statusCode());
    server.profile(Profile.VERSITY);
    assertEquals(500, getByRdma(region, 10).statusCode());
    server.profile(Profile.NOOBAA);
    assertEquals("10", bytes(getByRdma(region, 10)));
    assertArrayEquals(new byte[10], DcClient.contents(region, 10, 20));
    server.enableRdma(false);
    HttpResponse<byte[]> off = getByRdma(region, 10);
    assertEquals(501, off.statusCode());
    assertNull(reply(off));
    server.profile(Profile.CEPH);
    assertArrayEquals(large, getByRdma(region, 10).body());
  }

  @Test
  void partsByRdma() throws Exception {
    byte[] data = data(100);
    MemoryRegion region = filled(data);
    String id =
        s3.createMultipartUpload(r -> r.bucket("bucket").key("object").checksumAlgorithm("CRC32"))
            .uploadId();
    String path = PATH + "?partNumber=1&uploadId=" + id;
    String token = client.token(region, 0, 100);
    String crc32c = ChecksumAlgorithm.base64(ChecksumAlgorithm.CRC32C.of(data));
    assertEquals(
        400,
        client
            .send("PUT", path, "x-amz-rdma-token", token, "x-amz-checksum-crc32c", crc32c)
            .statusCode(),
        "the upload declared CRC32");
    String[] complete = {"x-amz-rdma-token", token, "x-amz-checksum-crc32", crc32(data)};
    server.profile(Profile.VERSITY);
    HttpResponse<byte[]> refused = client.send("PUT", path, complete);
    assertEquals(501, refused.statusCode());
    assertNull(reply(refused));
    server.profile(Profile.AISTOR);
    assertEquals("501", reply(client.send("PUT", path, "x-amz-rdma-token", token)));
    HttpResponse<byte[]> stored = client.send("PUT", path, complete);
    assertEquals(200, stored.statusCode());
    CompletedPart part = CompletedPart.builder().partNumber(1).eTag(header(stored, "etag")).build();
    s3.completeMultipartUpload(
        r ->
            r.bucket("bucket")
                .key("object")
                .uploadId(id)
                .multipartUpload(m -> m.parts(List.of(part))));
    assertArrayEquals(data, server.objects().get(PATH).data());
    assertEquals(0, server.counters().httpReceived(Operation.UPLOAD_PART));
  }

  // RC

  @Test
  void connectionsOfClientsMoveData() throws Exception {
    byte[] data = data(2 * MIB + 1);
    QueuePair made = client.queuePair();
    HttpResponse<byte[]> connected = connect(made);
    assertEquals(200, connected.statusCode(), () -> new String(connected.body(), UTF_8));
    String id = header(connected, Connections.SESSION);
    MemoryRegion source = filled(data);
    assertEquals(200, putByRdma(token(id, source), data).statusCode());
    assertArrayEquals(data, server.objects().get(PATH).data());
    MemoryRegion sink = client.region(data.length, AccessFlag.REMOTE_WRITE);
    HttpResponse<byte[]> got = client.send("GET", PATH, "x-amz-rdma-token", token(id, sink));
    assertEquals(String.valueOf(data.length), bytes(got));
    assertArrayEquals(data, DcClient.contents(sink, 0, data.length));
    assertEquals(
        204, client.send("POST", "/.s3rdma-rc/disconnect", Connections.SESSION, id).statusCode());
    assertEquals(500, putByRdma(token(id, source), data).statusCode());
  }

  @Test
  void aConnectionThatFailedIsGone() throws Exception {
    byte[] data = data(100);
    String id = header(connect(client.queuePair()), Connections.SESSION);
    MemoryRegion unreadable = client.region(100, AccessFlag.REMOTE_WRITE);
    MemoryRegion readable = filled(data);
    assertEquals(200, putByRdma(token(id, readable), data).statusCode());
    assertEquals(500, putByRdma(token(id, unreadable), data).statusCode());
    HttpResponse<byte[]> gone = putByRdma(token(id, readable), data);
    assertEquals(500, gone.statusCode());
    assertTrue(new String(gone.body(), UTF_8).contains("no idle connection"));
    assertEquals(400, client.send("POST", "/.s3rdma-rc/connect").statusCode());
  }

  private static String token(String id, MemoryRegion region) {
    return "rc:%s:%016x:%08x:%08x".formatted(id, region.start(), region.length(), region.rkey());
  }

  /** Connects a queue pair, by 88 digits: a byte for RC, the number, the GID, and unused ones. */
  private HttpResponse<byte[]> connect(QueuePair made) throws Exception {
    QueuePairAddress local = made.localAddress();
    String name =
        "01%08x%s%s"
            .formatted(
                Integer.reverseBytes(local.number()),
                HexFormat.of().formatHex(local.gid().toBytes()),
                "0".repeat(46));
    HttpResponse<byte[]> response =
        client.send(
            "POST",
            "/.s3rdma-rc/connect",
            "x-amz-rdma-token",
            name,
            "x-amz-rdma-psn",
            "%06x".formatted(local.psn()));
    if (response.statusCode() == 200) {
      String remote = reply(response).substring("200:".length());
      assertEquals(88, remote.length());
      assertEquals("01", remote.substring(0, 2));
      made.setup().reads(1);
      made.connect(
          QueuePairAddress.of(
                  Integer.reverseBytes(HexFormat.fromHexDigits(remote.substring(2, 10))),
                  Gid.fromBytes(HexFormat.of().parseHex(remote.substring(10, 42))))
              .withMtu(local.mtu())
              .withPsn(HexFormat.fromHexDigits(header(response, "x-amz-rdma-psn"))));
    }
    return response;
  }
}
