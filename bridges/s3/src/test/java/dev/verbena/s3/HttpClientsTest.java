package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import dev.verbena.s3.server.S3Request;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hc.client5.http.SystemDefaultDnsResolver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;

/** What HTTP clients are given. */
class HttpClientsTest {
  @Test
  void bucketsInHostsGoByRdma() throws Exception {
    try (Rig rig = new Rig(Profile.SPEC)) {
      rig.settings.put("endpoints", "localhost:" + rig.uri().getPort());
      SystemDefaultDnsResolver resolver =
          new SystemDefaultDnsResolver() {
            @Override
            public InetAddress[] resolve(String host) {
              return new InetAddress[] {InetAddress.ofLiteral("127.0.0.1")};
            }
          };
      try (S3Client client =
          rig.withProperties(
              () ->
                  S3Client.builder()
                      .httpClientBuilder(Apache5HttpClient.builder().dnsResolver(resolver))
                      .endpointOverride(rig.uriOf("localhost"))
                      .region(Region.US_EAST_1)
                      .credentialsProvider(Rig.credentials())
                      .build())) {
        ProgramsTest.objects(rig, client);
      }
      for (S3Request request : rig.server.requests()) {
        assertEquals("/k", request.uri().getPath());
      }
      assertEquals(0, rig.server.counters().httpReceived(Operation.PUT_OBJECT));
      assertEquals(0, rig.server.counters().httpSent(Operation.GET_OBJECT));
    }
  }

  /** The bodies of responses that are not used do not keep their connections. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void oneConnectionIsEnough(boolean isAsync) throws Exception {
    AtomicLong nanos = new AtomicLong();
    Pause.use(nanos::get);
    try (Rig rig = new Rig(Profile.DECLINES_BY_ERROR);
        SdkHttpClient apache = Apache5HttpClient.builder().maxConnections(1).build();
        SdkAsyncHttpClient netty = NettyNioAsyncHttpClient.builder().maxConcurrency(1).build()) {
      byte[] data = Rig.random(300_000);
      Program.store(rig, data);
      S3Client client = rig.client(S3Client.builder().httpClient(apache));
      S3AsyncClient async = rig.client(S3AsyncClient.builder().httpClient(netty));
      GetObjectRequest get = Program.get("bytes=0-299999").build();
      for (int i = 0; i < 5; i++) {
        byte[] read =
            isAsync
                ? async.getObject(get, AsyncResponseTransformer.toBytes()).join().asByteArray()
                : client.getObjectAsBytes(get).asByteArray();
        assertArrayEquals(data, read);
        nanos.addAndGet(400_000_000_000L);
      }
      assertEquals(5, rig.counter(S3Counter.DECLINED_BY_SERVER));
    } finally {
      Pause.use(System::nanoTime);
    }
  }

  /** That of java.net.HttpURLConnection sends a Content-Length with a body only. */
  @Test
  void anHttpClientThatNeedsABodyGetsAnEmptyOne() throws Exception {
    try (Rig rig = new Rig(Profile.SPEC);
        SdkHttpClient apache = Apache5HttpClient.create()) {
      List<HttpExecuteRequest> requests = new CopyOnWriteArrayList<>();
      SdkHttpClient recorder =
          new SdkHttpClient() {
            @Override
            public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
              requests.add(request);
              return apache.prepareRequest(request);
            }

            @Override
            public void close() {
              // The test closes it.
            }
          };
      ProgramsTest.objects(rig, rig.client(S3Client.builder().httpClient(recorder)));
      for (HttpExecuteRequest request : requests) {
        assertTrue(request.httpRequest().firstMatchingHeader(Reply.TOKEN).isPresent());
        assertEquals(
            request.httpRequest().firstMatchingHeader("Content-Length").isPresent(),
            request.contentStreamProvider().isPresent());
      }
    }
  }
}
