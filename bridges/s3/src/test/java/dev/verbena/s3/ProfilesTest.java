package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import dev.verbena.s3.server.S3Server;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** With each kind of server, calls end as they do without RDMA. */
@Timeout(300)
class ProfilesTest {
  private static final int SIZE = 3 << 20;
  private static final byte[] DATA = Rig.random(SIZE);

  private final AtomicLong nanos = new AtomicLong();
  private Rig rig;
  private Program program;

  /** A kind of server, and of client. */
  record Case(Profile profile, boolean isEnabled, boolean isAsync) {
    boolean moves(Operation operation) {
      return switch (profile) {
        case SPEC, AISTOR, CEPH, NOOBAA, ELBENCHO -> isEnabled;
        case VERSITY -> isEnabled && operation != Operation.UPLOAD_PART;
        default -> false;
      };
    }

    /** Whether a response to a request with a token is that of a server without RDMA. */
    boolean isOrdinary(Operation operation) {
      return operation == Operation.GET_OBJECT
          && switch (profile) {
            case SPEC, CEPH, VERSITY -> !isEnabled;
            case IGNORANT, IGNORANT_UNCHECKED, DECLINES_IN_SPEC_WAY -> true;
            default -> false;
          };
    }

    long requests(Operation operation) {
      return moves(operation) || isOrdinary(operation) ? 1 : 2;
    }

    long tokens(Operation operation) {
      return moves(operation) ? 1 : 0;
    }
  }

  static Stream<Case> cases() {
    return Stream.of(Profile.values())
        .flatMap(p -> Stream.of(new Case(p, true, false), new Case(p, false, true)))
        .flatMap(c -> Stream.of(c, new Case(c.profile, c.isEnabled, !c.isAsync)));
  }

  private void open(Case c) throws Exception {
    rig = new Rig(c.profile);
    rig.server.enableRdma(c.isEnabled);
    Pause.use(nanos::get);
    if (c.profile == Profile.AISTOR) {
      rig.settings.put("requireReply", "false");
    }
    program = Program.of(rig, c.isAsync);
  }

  @AfterEach
  void close() {
    Pause.use(System::nanoTime);
    if (rig != null) {
      rig.close();
    }
  }

  private void afterPauses() {
    nanos.addAndGet(300_000_000_000L);
  }

  private void assertRequests(Operation operation, long requests, long tokens) {
    assertEquals(requests, Program.requests(rig, operation), "requests");
    assertEquals(tokens, Program.tokens(rig, operation), "tokens");
    assertEquals(List.of(), List.copyOf(rig.server.errors()));
    rig.server.requests().clear();
  }

  private void put() {
    rig.server.objects().clear();
    program.put(DATA);
    assertArrayEquals(DATA, rig.stored(Program.KEY));
  }

  private void putPart() {
    rig.server.objects().clear();
    program.putParts(List.of(DATA));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
  }

  private void get(String range, int first, int end) {
    assertArrayEquals(Arrays.copyOfRange(DATA, first, end), program.read(range), range);
  }

  /** First, soon after, and after the pause. */
  private void assertPause(Case c, Operation operation, Runnable call) {
    call.run();
    assertRequests(operation, c.requests(operation), 1);
    call.run();
    assertRequests(operation, 1, c.tokens(operation));
    boolean isForEver =
        c.profile == Profile.IGNORANT_UNCHECKED && operation != Operation.GET_OBJECT;
    for (int i = 0; i < 2; i++) {
      afterPauses();
      call.run();
      assertRequests(operation, isForEver ? 1 : c.requests(operation), isForEver ? 0 : 1);
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void objectsAreStored(Case c) throws Exception {
    open(c);
    assertPause(c, Operation.PUT_OBJECT, this::put);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void partsAreStored(Case c) throws Exception {
    open(c);
    assertPause(c, Operation.UPLOAD_PART, this::putPart);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void rangesAreRead(Case c) throws Exception {
    open(c);
    Program.store(rig, DATA);
    assertPause(c, Operation.GET_OBJECT, () -> get("bytes=1000-1999999", 1000, 2_000_000));
    afterPauses();
    get("bytes=-300000", SIZE - 300_000, SIZE);
    afterPauses();
    get("bytes=1000000-9999999", 1_000_000, SIZE);
    afterPauses();
    get("bytes=-9999999", 0, SIZE);
    afterPauses();
    get("bytes=0-9999999", 0, SIZE);
    assertRequests(Operation.GET_OBJECT, 4 * c.requests(Operation.GET_OBJECT), 4);
  }

  private static int status(Runnable call) {
    return assertThrows(S3Exception.class, call::run).statusCode();
  }

  @ParameterizedTest
  @MethodSource("cases")
  void failuresAreThoseOfTheSdk(Case c) throws Exception {
    open(c);
    assertEquals(404, status(() -> program.read("bytes=0-999999")));
    Program.store(rig, DATA);
    afterPauses();
    assertEquals(
        412, status(() -> program.get(Program.get("bytes=0-999999").ifMatch("\"x\"").build())));
    afterPauses();
    assertEquals(
        304,
        status(() -> program.get(Program.get("bytes=0-999999").ifNoneMatch("\"etag\"").build())));
    afterPauses();
    assertEquals(416, status(() -> program.read("bytes=5000000-9999999")));
    afterPauses();
    assertEquals(412, status(() -> program.put(Program.put().ifNoneMatch("*").build(), DATA)));
    afterPauses();
    assertEquals(404, status(() -> program.put(Program.put().bucket("none").build(), DATA)));
    get("bytes=0-9999999", 0, SIZE);
  }

  @ParameterizedTest
  @EnumSource
  void aWrongKeyIsAnOrdinaryFailure(Profile profile) throws Exception {
    open(new Case(profile, true, false));
    S3Client wrong =
        rig.client(
            S3Client.builder(),
            StaticCredentialsProvider.create(
                AwsBasicCredentials.create(S3Server.ACCESS_KEY, "wrong")));
    Program.store(rig, DATA);
    assertEquals(403, status(() -> wrong.getObjectAsBytes(Program.get("bytes=0-999999").build())));
    assertEquals(1, Program.requests(rig, Operation.GET_OBJECT));
    assertEquals(0, rig.counter(S3Counter.DISCARDED));
  }

  /** Without the setting that accepts a PUT without a reply, it is repeated. */
  @Test
  void aPutWithoutReplyIsRepeated() throws Exception {
    open(new Case(Profile.AISTOR, true, false));
    rig.settings.remove("requireReply");
    program = Program.of(rig, false);
    put();
    assertRequests(Operation.PUT_OBJECT, 2, 1);
    nanos.addAndGet(Long.MAX_VALUE / 4);
    put();
    assertRequests(Operation.PUT_OBJECT, 1, 0);
  }

  /** After a PUT was ignored, no call of any kind has a token. */
  @ParameterizedTest
  @EnumSource(names = {"PUT_OBJECT", "UPLOAD_PART"})
  void aServerThatStoredAnEmptyObjectGetsNoTokens(Operation first) throws Exception {
    open(new Case(Profile.IGNORANT_UNCHECKED, true, false));
    Runnable call = first == Operation.PUT_OBJECT ? this::put : this::putPart;
    call.run();
    assertRequests(first, 2, 1);
    for (int i = 0; i < 3; i++) {
      nanos.addAndGet(Long.MAX_VALUE / 8);
      put();
      putPart();
      get("bytes=0-999999", 0, 1_000_000);
      assertEquals(List.of(), Program.tokens(rig));
    }
    assertEquals(1, rig.counter(S3Counter.IGNORED));
  }

  @Test
  void cephHasALimitOfItsOwn() throws Exception {
    open(new Case(Profile.CEPH, true, true));
    byte[] large = Rig.random(9 << 20);
    program.put(large);
    assertArrayEquals(large, rig.stored(Program.KEY));
    assertArrayEquals(large, program.read("bytes=0-" + (large.length - 1)));
    assertEquals(2, rig.counter(S3Counter.REPEATED));
  }

  @Test
  void pausesGrowAndEndWithASuccess() {
    Pause pause = new Pause();
    Pause.use(nanos::get);
    for (int seconds : new int[] {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
      pause.begin();
      pause.begin();
      nanos.addAndGet(seconds * 1_000_000_000L - 1);
      assertEquals(true, pause.isActive(), seconds + " s");
      nanos.addAndGet(1);
      assertEquals(false, pause.isActive(), seconds + " s");
    }
    pause.reset();
    pause.begin();
    nanos.addAndGet(1_000_000_000L);
    assertEquals(false, pause.isActive());
  }
}
