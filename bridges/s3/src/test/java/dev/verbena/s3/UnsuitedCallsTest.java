package dev.verbena.s3;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Profile;
import dev.verbena.soft.SoftNetwork;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider;
import software.amazon.awssdk.auth.signer.AwsS3V4Signer;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.client.config.SdkAdvancedClientOption;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.core.retry.RetryPolicy;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.model.S3Exception;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

/** Calls that do not suit go by HTTP: there is no token on the wire. */
@Timeout(300)
class UnsuitedCallsTest {
  private static final int SIZE = 1 << 20;
  private static final byte[] DATA = Rig.random(SIZE);
  private static final String CLOSED = "bytes=0-999999";

  private Rig rig;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC);
    Program.store(rig, DATA);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private void assertNoTokens() {
    assertFalse(rig.server.requests().isEmpty());
    assertEquals(List.of(), Program.tokens(rig));
    assertTrue(
        rig.server.requests().stream()
            .noneMatch(r -> r.headers().containsKey(SegmentTransformer.HEADER)),
        "the header of the bridge is on the wire");
    assertEquals(List.of(), List.copyOf(rig.server.errors()));
  }

  private void putAndGet(S3Client client) {
    byte[] data = Rig.random(SIZE + 1);
    client.putObject(Program.put().build(), RequestBody.fromBytes(data));
    assertArrayEquals(data, rig.stored(Program.KEY));
    assertArrayEquals(
        Arrays.copyOf(data, 1_000_000),
        client.getObjectAsBytes(Program.get(CLOSED).build()).asByteArray());
  }

  private S3Client client(Consumer<S3ClientBuilder> with) {
    S3ClientBuilder builder = S3Client.builder();
    with.accept(builder);
    return rig.client(builder);
  }

  @Test
  void suitedCallsHaveTokens() {
    putAndGet(rig.client());
    assertEquals(2, Program.tokens(rig).size());
  }

  /** The signer of the bridge counts what it does not suit, since the endpoint is encrypted. */
  @ParameterizedTest
  @CsvSource({
    "b--use1-az4--x-s3, 0",
    "arn:aws:s3::123456789012:accesspoint/access.mrap, 0",
    "plain, 1",
  })
  void bucketsOfOtherSigners(String bucket, long expected) {
    rig.settings.put("endpoints", "amazonaws.com");
    List<SdkHttpRequest> requests = new ArrayList<>();
    SdkHttpClient http = new Sessions(requests);
    S3Client client =
        rig.withProperties(
            () ->
                S3Client.builder()
                    .httpClient(http)
                    .region(Region.US_EAST_1)
                    .credentialsProvider(Rig.credentials())
                    .build());
    try (client) {
      client.putObject(b -> b.bucket(bucket).key("k"), RequestBody.fromBytes(DATA));
    } catch (SdkException e) { // SigV4a may need the native library of the CRT.
      assertTrue(bucket.startsWith("arn:"), e::toString);
    }
    assertTrue(
        bucket.startsWith("arn:") || requests.size() == (expected == 0 ? 2 : 1),
        requests::toString);
    Map<S3Counter, Long> counters = S3Rdma.counters().get("amazonaws.com");
    assertEquals(expected, counters.values().stream().mapToLong(n -> n).sum(), bucket);
    assertEquals(expected, counters.get(S3Counter.UNSUITED));
  }

  /** Answers each request with a session of S3 Express. */
  private record Sessions(List<SdkHttpRequest> requests) implements SdkHttpClient {
    private static final String SESSION =
        "<CreateSessionResult><Credentials><SessionToken>t</SessionToken>"
            + "<SecretAccessKey>s</SecretAccessKey><AccessKeyId>a</AccessKeyId>"
            + "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></CreateSessionResult>";

    @Override
    public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
      requests.add(request.httpRequest());
      return new ExecutableHttpRequest() {
        @Override
        public HttpExecuteResponse call() {
          return HttpExecuteResponse.builder()
              .response(SdkHttpResponse.builder().statusCode(200).build())
              .responseBody(
                  AbortableInputStream.create(new ByteArrayInputStream(SESSION.getBytes(UTF_8))))
              .build();
        }

        @Override
        public void abort() {
          // It has no connection.
        }
      };
    }

    @Override
    public void close() {
      // It has no connection.
    }
  }

  @Test
  void presignedRequests() throws Exception {
    S3Presigner presigner =
        rig.withProperties(
            () ->
                S3Presigner.builder()
                    .endpointOverride(rig.uri())
                    .region(Region.US_EAST_1)
                    .serviceConfiguration(
                        S3Configuration.builder().pathStyleAccessEnabled(true).build())
                    .credentialsProvider(Rig.credentials())
                    .build());
    try (presigner) {
      var signed =
          presigner.presignGetObject(
              b ->
                  b.signatureDuration(Duration.ofHours(1))
                      .getObjectRequest(Program.get(CLOSED).build()));
      assertFalse(signed.signedHeaders().toString().contains("x-verbena"));
      HttpURLConnection connection = (HttpURLConnection) signed.url().openConnection();
      connection.setRequestProperty("Range", CLOSED);
      try (InputStream body = connection.getInputStream()) {
        assertArrayEquals(Arrays.copyOf(DATA, 1_000_000), body.readAllBytes());
      }
      var put =
          presigner.presignPutObject(
              b ->
                  b.signatureDuration(Duration.ofHours(1))
                      .putObjectRequest(Program.put().contentLength((long) SIZE).build()));
      assertFalse(signed.signedHeaders().toString().contains("rdma"));
      assertFalse(put.url().toString().contains("rdma"), put.url().toString());
      assertFalse(put.signedHeaders().toString().contains("rdma"));
    }
    assertNoTokens();
  }

  @Test
  @SuppressWarnings("deprecation")
  void overriddenSigner() {
    putAndGet(
        client(
            b ->
                b.overrideConfiguration(
                    o ->
                        o.putAdvancedOption(
                            SdkAdvancedClientOption.SIGNER, AwsS3V4Signer.create()))));
    assertNoTokens();
  }

  @Test
  void anonymousCredentials() {
    S3Client client = rig.client(S3Client.builder(), AnonymousCredentialsProvider.create());
    assertEquals(
        403,
        assertThrows(S3Exception.class, () -> client.getObjectAsBytes(Program.get(CLOSED).build()))
            .statusCode());
    assertThrows(
        S3Exception.class,
        () -> client.putObject(Program.put().build(), RequestBody.fromBytes(DATA)));
    assertNoTokens();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bytes=0-",
        "bytes=1000-",
        "",
        "bytes=0-1,5-6",
        "bytes=0-262142",
        "bytes=-262143",
        "bytes=0-67108864"
      })
  void rangesThatDoNotSuit(String range) {
    S3Client client = rig.client();
    client.getObjectAsBytes(Program.get(range.isEmpty() ? null : range).build());
    assertNoTokens();
    S3Counter counter =
        range.endsWith("262142") || range.endsWith("262143")
            ? S3Counter.BELOW_THRESHOLD
            : range.endsWith("67108864") ? S3Counter.OVERSIZE : S3Counter.UNBOUNDED;
    assertEquals(1, rig.counter(counter));
  }

  @ParameterizedTest
  @ValueSource(strings = {"bytes=0-262143", "bytes=-262144", "bytes=0-67108863"})
  void rangesThatJustSuit(String range) {
    rig.client().getObjectAsBytes(Program.get(range).build());
    assertEquals(1, Program.tokens(rig).size());
    assertEquals(1, rig.counter(S3Counter.GET));
  }

  @Test
  void partNumber() {
    rig.client().getObjectAsBytes(Program.get((String) null).partNumber(1).build());
    assertNoTokens();
  }

  @Test
  void sizesThatDoNotSuit() {
    S3Client client = rig.client();
    client.putObject(Program.put().build(), RequestBody.empty());
    assertEquals(0, rig.stored(Program.KEY).length);
    client.putObject(Program.put().build(), RequestBody.fromBytes(new byte[(256 << 10) - 1]));
    client.putObject(Program.put().build(), RequestBody.fromBytes(new byte[(64 << 20) + 1]));
    assertNoTokens();
    assertEquals(2, rig.counter(S3Counter.BELOW_THRESHOLD));
    assertEquals(1, rig.counter(S3Counter.OVERSIZE));
  }

  @Test
  void checksumsAndKeysOfTheUser() throws Exception {
    S3Client client = rig.client();
    String md5 = Base64.getEncoder().encodeToString(MessageDigest.getInstance("MD5").digest(DATA));
    client.putObject(Program.put().contentMD5(md5).build(), RequestBody.fromBytes(DATA));
    // The SDK refuses keys over plain HTTP, so the header is set by hand.
    client.putObject(
        Program.put()
            .overrideConfiguration(
                o -> o.putHeader("x-amz-server-side-encryption-customer-algorithm", "AES256"))
            .build(),
        RequestBody.fromBytes(DATA));
    assertNoTokens();
    assertEquals(2, rig.counter(S3Counter.UNSUITED));
  }

  @Test
  void conditionalPutBeforeAnotherOne() {
    S3Client client = rig.client();
    client.putObject(
        b -> b.bucket(Rig.BUCKET).key("new").ifNoneMatch("*"), RequestBody.fromBytes(DATA));
    client.getObjectAsBytes(Program.get(CLOSED).build()); // A GET shows nothing about PUT.
    client.putObject(
        b -> b.bucket(Rig.BUCKET).key("other").ifNoneMatch("*"), RequestBody.fromBytes(DATA));
    assertEquals(1, Program.tokens(rig).size());
    client.putObject(Program.put().build(), RequestBody.fromBytes(DATA));
    client.putObject(
        b -> b.bucket(Rig.BUCKET).key("third").ifNoneMatch("*"), RequestBody.fromBytes(DATA));
    assertEquals(3, Program.tokens(rig).size());
    assertArrayEquals(DATA, rig.stored("third"));
  }

  @Test
  @SuppressWarnings("deprecation")
  void clientsThatNeverRepeat() {
    putAndGet(
        client(b -> b.overrideConfiguration(o -> o.retryStrategy(AwsRetryStrategy.doNotRetry()))));
    putAndGet(
        client(
            b ->
                b.overrideConfiguration(
                    o ->
                        o.retryStrategy(
                            AwsRetryStrategy.standardRetryStrategy().toBuilder()
                                .maxAttempts(1)
                                .build()))));
    putAndGet(client(b -> b.overrideConfiguration(o -> o.retryPolicy(RetryPolicy.none()))));
    assertNoTokens();
  }

  private static final ExecutionInterceptor HARMLESS =
      new ExecutionInterceptor() {
        @Override
        public void beforeExecution(
            Context.BeforeExecution context, ExecutionAttributes attributes) {
          assertNotNull(context.request());
        }
      };
  private static final List<ExecutionInterceptor> CHANGING =
      List.of(
          new ExecutionInterceptor() {
            @Override
            public Optional<RequestBody> modifyHttpContent(
                Context.ModifyHttpRequest context, ExecutionAttributes attributes) {
              return context.requestBody();
            }
          },
          new ExecutionInterceptor() {
            @Override
            public Optional<AsyncRequestBody> modifyAsyncHttpContent(
                Context.ModifyHttpRequest context, ExecutionAttributes attributes) {
              return context.asyncRequestBody();
            }
          },
          new ExecutionInterceptor() {
            @Override
            public Optional<InputStream> modifyHttpResponseContent(
                Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
              return context.responseBody();
            }
          },
          new ExecutionInterceptor() {
            @Override
            public Optional<Publisher<ByteBuffer>> modifyAsyncHttpResponseContent(
                Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
              return context.responsePublisher();
            }
          });

  /** The bridge would take the body before an interceptor encrypts it. */
  @Test
  void interceptorsThatChangeBodies() {
    for (ExecutionInterceptor interceptor : CHANGING) {
      putAndGet(client(b -> b.overrideConfiguration(o -> o.addExecutionInterceptor(interceptor))));
    }
    assertNoTokens();
    putAndGet(client(b -> b.overrideConfiguration(o -> o.addExecutionInterceptor(HARMLESS))));
    assertEquals(2, Program.tokens(rig).size());
    rig.settings.put("interceptors", "true");
    for (ExecutionInterceptor interceptor : CHANGING) {
      putAndGet(client(b -> b.overrideConfiguration(o -> o.addExecutionInterceptor(interceptor))));
    }
    assertEquals(10, Program.tokens(rig).size());
  }

  @Test
  void attemptsOfTheProperty() {
    System.setProperty("aws.maxAttempts", "1");
    try {
      putAndGet(rig.client());
    } finally {
      System.clearProperty("aws.maxAttempts");
    }
    assertNoTokens();
  }

  @Test
  void requestsWhosePluginDoesNotRepeat() {
    rig.server.profile(Profile.DECLINES_BY_ERROR);
    rig.client()
        .getObjectAsBytes(
            Program.get(CLOSED)
                .overrideConfiguration(
                    o ->
                        o.addPlugin(
                            p ->
                                ((software.amazon.awssdk.services.s3.S3ServiceClientConfiguration
                                            .Builder)
                                        p)
                                    .overrideConfiguration(
                                        c -> c.retryStrategy(AwsRetryStrategy.doNotRetry()))))
                .build());
    assertNoTokens();
  }

  @Test
  void endpointsThatAreNotListed() {
    int port = rig.uri().getPort();
    for (String name :
        List.of("127.0.0.2:" + port, "127.0.0.1:" + (port - 1), "127.0.0.1", "localhost:" + port)) {
      rig.settings.put("endpoints", name);
      rig.client().getObjectAsBytes(Program.get(CLOSED).build());
    }
    assertNoTokens();
  }

  @Test
  void otherOperations() {
    S3Client client = rig.client();
    client.headObject(b -> b.bucket(Rig.BUCKET).key(Program.KEY).range(CLOSED));
    client.listObjectsV2(b -> b.bucket(Rig.BUCKET));
    client.headBucket(b -> b.bucket(Rig.BUCKET));
    String id = client.createMultipartUpload(b -> b.bucket(Rig.BUCKET).key("m")).uploadId();
    client.abortMultipartUpload(b -> b.bucket(Rig.BUCKET).key("m").uploadId(id));
    client.deleteObject(b -> b.bucket(Rig.BUCKET).key(Program.KEY));
    assertNoTokens();
  }

  @ParameterizedTest
  @CsvSource({
    "endpoints, http://127.0.0.1:9000",
    "endpoints, my_host:9000",
    "endpoints, 127.0.0.1:x",
    "minBytes, -1",
    "minBytes, many",
    "maxBytes, 2g",
    "poolBytes, 1m",
    "dcKey, secret",
    "timeout, 0",
    "timeout, soon",
    "trafficClass, 256",
    "timeout, 1d",
    "timeout, 86401",
    "timeout, 0",
    "requireReply, perhaps",
    "https, 1",
  })
  void wrongSettings(String name, String value) {
    rig.settings.put(name, value);
    putAndGet(rig.client());
    assertNoTokens();
  }

  @Test
  void devicesThatAreMissing() {
    int seconds = 1;
    for (var supplier :
        List.<java.util.function.Supplier<List<dev.verbena.verbs.Device>>>of(
            List::of,
            () -> {
              throw new IllegalStateException("no libibverbs");
            },
            () -> {
              throw new UnsatisfiedLinkError("no libibverbs");
            },
            () -> {
              throw new IllegalCallerException("no native access");
            })) {
      Devices.use(supplier);
      rig.settings.put("timeout", seconds++ + "s"); // Another endpoint for the client.
      putAndGet(rig.client());
    }
    assertNoTokens();
    assertEquals(4, rig.counter(S3Counter.DECLINED_BY_DEVICE));
    assertEquals(4, rig.counter(S3Counter.PAUSED));
  }

  @Test
  void devicesWithoutDc() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      var device = network.addDevice("plain", InetAddress.ofLiteral("127.0.0.1"));
      Devices.use(() -> List.of(device));
      putAndGet(rig.client());
      assertEquals(Map.of(), network.openObjects());
      rig.settings.put("device", "plain");
      putAndGet(rig.client());
      rig.settings.put("device", "other,plain:0");
      putAndGet(rig.client());
      assertEquals(Map.of(), network.openObjects());
    }
    assertNoTokens();
    assertEquals(3, rig.counter(S3Counter.DECLINED_BY_DEVICE));
  }

  /** Stores and reads an object by HTTP, in a JVM of its own. */
  static final class Child {
    private Child() {}

    public static void main(String[] args) {
      S3Client client =
          S3Client.builder()
              .endpointOverride(java.net.URI.create(args[0]))
              .forcePathStyle(true)
              .region(Region.US_EAST_1)
              .credentialsProvider(Rig.credentials())
              .build();
      client.putObject(
          b -> b.bucket(args[1]).key("child"), RequestBody.fromBytes(new byte[1 << 20]));
      client.getObjectAsBytes(b -> b.bucket(args[1]).key("child").range("bytes=0-999999"));
      Thread.getAllStackTraces().keySet().forEach(t -> System.out.println("thread " + t.getName()));
    }
  }

  @Test
  void nothingIsLoadedWithoutEndpoints() throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xlog:class+load:stdout",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                Child.class.getName(),
                rig.uri().toString(),
                Rig.BUCKET));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    List<String> lines = process.inputReader().lines().toList();
    assertEquals(0, process.waitFor(), () -> String.join("\n", lines));
    assertTrue(lines.stream().anyMatch(l -> l.contains("dev.verbena.s3.RdmaInterceptor")));
    assertEquals(
        List.of(),
        lines.stream()
            .filter(
                line ->
                    line.contains(" dev.verbena.verbs.")
                        || line.contains(" dev.verbena.internal.")
                        || line.contains(" dev.verbena.mlx5.")
                        || line.startsWith("thread verbena"))
            .toList());
    assertNoTokens();
  }
}
