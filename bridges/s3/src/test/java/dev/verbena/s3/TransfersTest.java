package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import dev.verbena.s3.server.S3Request;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.ChecksumAlgorithm;

/** Programs that know nothing of RDMA store and read objects; no data is in HTTP bodies. */
class TransfersTest {
  private static final int SIZE = 3 << 20;

  private Rig rig;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC);
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private void assertNoBodies() {
    for (Operation operation :
        List.of(Operation.PUT_OBJECT, Operation.UPLOAD_PART, Operation.GET_OBJECT)) {
      assertEquals(0, rig.server.counters().httpReceived(operation), "received: " + operation);
      assertEquals(0, rig.server.counters().httpSent(operation), "sent: " + operation);
    }
    assertEquals(List.of(), List.copyOf(rig.server.errors()));
  }

  @Test
  void objectsOfTheSyncClientGoByRdma() throws Exception {
    S3Client client = rig.client();
    byte[] data = Rig.random(SIZE);
    client.putObject(b -> b.bucket(Rig.BUCKET).key("k"), RequestBody.fromBytes(data));
    assertArrayEquals(data, rig.stored("k"));
    byte[] range =
        client
            .getObjectAsBytes(b -> b.bucket(Rig.BUCKET).key("k").range("bytes=1000-1999999"))
            .asByteArray();
    assertArrayEquals(Arrays.copyOfRange(data, 1000, 2_000_000), range);
    byte[] tail =
        client
            .getObjectAsBytes(b -> b.bucket(Rig.BUCKET).key("k").range("bytes=-300000"))
            .asByteArray();
    assertArrayEquals(Arrays.copyOfRange(data, SIZE - 300_000, SIZE), tail);
    assertNoBodies();
    assertEquals(2, rig.counter(S3Counter.GET));
    assertEquals(1, rig.counter(S3Counter.PUT));
  }

  @Test
  void objectsOfTheAsyncClientGoByRdma() throws Exception {
    S3AsyncClient client = rig.asyncClient();
    byte[] data = Rig.random(SIZE);
    client.putObject(b -> b.bucket(Rig.BUCKET).key("k"), AsyncRequestBody.fromBytes(data)).join();
    assertArrayEquals(data, rig.stored("k"));
    byte[] range =
        client
            .getObject(
                b -> b.bucket(Rig.BUCKET).key("k").range("bytes=1000-1999999"),
                AsyncResponseTransformer.toBytes())
            .join()
            .asByteArray();
    assertArrayEquals(Arrays.copyOfRange(data, 1000, 2_000_000), range);
    assertNoBodies();
  }

  @Test
  void requestsAreThoseOfTheProtocol() throws Exception {
    S3Client client = rig.client();
    client.putObject(
        b -> b.bucket(Rig.BUCKET).key("k").contentEncoding("gzip"),
        RequestBody.fromBytes(Rig.random(SIZE)));
    S3Request put = rig.server.requests().poll();
    assertEquals("0", put.headers().get("content-length"));
    assertEquals("UNSIGNED-PAYLOAD", put.headers().get("x-amz-content-sha256"));
    assertEquals("gzip", put.headers().get("content-encoding"));
    assertEquals(81, put.headers().get("x-amz-rdma-token").length());
    assertTrue(put.headers().containsKey("x-amz-checksum-crc32"));
    for (String absent :
        List.of(
            "content-md5",
            "expect",
            "transfer-encoding",
            "x-amz-decoded-content-length",
            "x-amz-trailer",
            "x-amz-sdk-checksum-algorithm",
            SegmentTransformer.HEADER)) {
      assertFalse(put.headers().containsKey(absent), absent);
    }
    assertTrue(put.headers().get("authorization").contains("x-amz-rdma-token"));
  }

  @ParameterizedTest
  @CsvSource({
    "CRC32_C,false",
    "CRC32_C,true",
    "SHA1,false",
    "SHA1,true",
    "SHA256,false",
    "SHA256,true"
  })
  void theChecksumIsThatOfTheProgram(ChecksumAlgorithm algorithm, boolean isDeclined) {
    rig.server.profile(isDeclined ? Profile.DECLINES_BY_ERROR : Profile.SPEC);
    byte[] data = Rig.random(SIZE);
    String header = "x-amz-checksum-" + algorithm.toString().toLowerCase(Locale.ROOT);
    rig.client()
        .putObject(
            b -> b.bucket(Rig.BUCKET).key("k").checksumAlgorithm(algorithm),
            RequestBody.fromBytes(data));
    rig.settings.put("timeout", "299s"); // Another endpoint, which has not declined.
    rig.asyncClient()
        .putObject(
            b -> b.bucket(Rig.BUCKET).key("async").checksumAlgorithm(algorithm),
            AsyncRequestBody.fromBytes(data))
        .join();
    assertArrayEquals(data, rig.stored("k"));
    assertArrayEquals(data, rig.stored("async"));
    for (S3Request put : rig.server.requests()) {
      String trailer = put.headers().getOrDefault("x-amz-trailer", "");
      assertTrue(put.headers().containsKey(header) || trailer.equals(header), put.toString());
    }
  }
}
