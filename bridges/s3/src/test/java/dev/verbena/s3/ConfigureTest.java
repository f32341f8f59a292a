package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.s3.server.Profile;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;

/**
 * Clients that {@link S3Rdma#configure} made, with and without the interceptor of the class path.
 */
@Timeout(300)
class ConfigureTest {
  private static final int SIZE = 1 << 20;
  private static final byte[] DATA = Rig.random(SIZE);
  private static final String RANGE = "bytes=1000-999999";

  private Rig rig;

  @AfterEach
  void close() {
    rig.close();
  }

  @ParameterizedTest
  @CsvSource({"SPEC, true", "SPEC, false", "DECLINES_BY_ERROR, true", "DECLINES_BY_ERROR, false"})
  void objectsAreStoredAndRead(Profile profile, boolean isTwice) throws Exception {
    rig = new Rig(profile);
    Settings settings = rig.settings();
    if (!isTwice) {
      rig.settings.remove("endpoints"); // For the interceptor of the class path.
    }
    S3Client client = rig.client(S3Rdma.configure(S3Client.builder(), settings));
    client.putObject(Program.put().build(), RequestBody.fromBytes(DATA));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    byte[] expected = Arrays.copyOfRange(DATA, 1000, 1_000_000);
    assertArrayEquals(expected, client.getObjectAsBytes(Program.get(RANGE).build()).asByteArray());
    S3AsyncClient async = rig.client(S3Rdma.configure(S3AsyncClient.builder(), settings));
    Program.result(async.putObject(Program.put().build(), AsyncRequestBody.fromBytes(DATA)));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertArrayEquals(
        expected,
        Program.result(
                async.getObject(Program.get(RANGE).build(), AsyncResponseTransformer.toBytes()))
            .asByteArray());
    assertEquals(profile == Profile.SPEC ? 4 : 6, rig.server.requests().size());
    assertEquals(profile == Profile.SPEC ? 4 : 2, Program.tokens(rig).size());
    assertEquals(profile == Profile.SPEC ? 2 : 0, rig.counter(S3Counter.GET));
  }
}
