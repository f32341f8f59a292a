package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Fault;
import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.sync.RequestBody;

/** What a server does wrong is detected, not delivered, and the call ends right by HTTP. */
@Timeout(300)
class FaultsTest {
  private static final int SIZE = 3 << 20;
  private static final byte[] DATA = Rig.random(SIZE);

  /** Faults that only a GET has: a PUT succeeds in spite of them. */
  private static final Set<Fault> OF_GET =
      EnumSet.of(
          Fault.NO_WRITE,
          Fault.SHORT_WRITE,
          Fault.WRONG_DATA,
          Fault.WRONG_CHECKSUM,
          Fault.BODY_WITH_REPLY);

  private Rig rig;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.NOOBAA);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  static Stream<Arguments> faults() {
    return Stream.of(Fault.values())
        .flatMap(fault -> Stream.of(Arguments.of(fault, false), Arguments.of(fault, true)));
  }

  private static S3Counter counter(Fault fault, boolean isGet) {
    return switch (fault) {
      case DROP_BEFORE_TRANSFER,
          DROP_AFTER_TRANSFER,
          ERROR_500_AFTER_TRANSFER,
          ERROR_503_AFTER_TRANSFER ->
          S3Counter.FAILED;
      case NO_REPLY -> isGet ? S3Counter.PROTOCOL_ERRORS : S3Counter.IGNORED;
      default -> S3Counter.PROTOCOL_ERRORS;
    };
  }

  private void assertRepeated(Operation operation, S3Counter counter) {
    assertEquals(2, Program.requests(rig, operation), "requests");
    assertEquals(1, Program.tokens(rig, operation), "tokens");
    for (S3Counter other :
        List.of(S3Counter.FAILED, S3Counter.PROTOCOL_ERRORS, S3Counter.IGNORED)) {
      assertEquals(other == counter ? 1 : 0, rig.counter(other), other.toString());
    }
    assertEquals(1, rig.counter(S3Counter.REPEATED));
    assertEquals(1, rig.counter(S3Counter.DISCARDED));
    assertEquals(0, rig.counter(S3Counter.GET) + rig.counter(S3Counter.PUT));
  }

  @ParameterizedTest
  @MethodSource("faults")
  void faultsOfGetAreRepaired(Fault fault, boolean isAsync) {
    Program program = Program.of(rig, isAsync);
    Program.store(rig, DATA);
    rig.server.faults().next(1, fault);
    assertArrayEquals(DATA, program.read("bytes=0-" + (SIZE - 1)));
    assertRepeated(Operation.GET_OBJECT, counter(fault, true));
  }

  /** Without the checksum of the whole object. */
  @ParameterizedTest
  @EnumSource(
      names = {"NO_WRITE", "SHORT_WRITE", "WRONG_BYTE_COUNT", "BODY_WITH_REPLY", "NO_REPLY"})
  void faultsOfRangesAreRepaired(Fault fault) {
    Program program = Program.of(rig, false);
    Program.store(rig, DATA);
    rig.server.faults().next(1, fault);
    assertArrayEquals(
        Arrays.copyOfRange(DATA, SIZE - 1_000_001, SIZE), program.read("bytes=-1000001"));
    assertRepeated(Operation.GET_OBJECT, S3Counter.PROTOCOL_ERRORS);
  }

  @ParameterizedTest
  @MethodSource("faults")
  void faultsOfPutAreRepaired(Fault fault, boolean isAsync) {
    Program program = Program.of(rig, isAsync);
    rig.server.faults().next(1, fault);
    program.put(DATA);
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    if (OF_GET.contains(fault)) {
      assertEquals(1, rig.counter(S3Counter.PUT));
    } else {
      assertRepeated(Operation.PUT_OBJECT, counter(fault, false));
    }
  }

  @ParameterizedTest
  @MethodSource("faults")
  void faultsOfPartsAreRepaired(Fault fault, boolean isAsync) {
    Program program = Program.of(rig, isAsync);
    rig.server.faults().next(1, fault);
    program.putParts(List.of(DATA));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    if (!OF_GET.contains(fault)) {
      assertRepeated(Operation.UPLOAD_PART, counter(fault, false));
    }
  }

  /** A stream that can be read once, and is not in memory. */
  private static InputStream onceReadable() {
    return new InputStream() {
      private final InputStream data = new ByteArrayInputStream(DATA);

      @Override
      public int read() throws java.io.IOException {
        return data.read();
      }

      @Override
      public int read(byte[] target, int offset, int length) throws java.io.IOException {
        return data.read(target, offset, length);
      }
    };
  }

  /** A publisher with one subscriber. */
  private static final class OnceSubscribable implements AsyncRequestBody {
    private final AtomicInteger subscribers = new AtomicInteger();
    private final AsyncRequestBody body =
        AsyncRequestBody.fromByteBuffers(
            ByteBuffer.wrap(DATA, 0, 1000).slice(),
            ByteBuffer.wrap(DATA, 1000, SIZE - 1000).slice());

    @Override
    public Optional<Long> contentLength() {
      return Optional.of((long) SIZE);
    }

    @Override
    public void subscribe(Subscriber<? super ByteBuffer> subscriber) {
      if (subscribers.incrementAndGet() > 1) {
        throw new IllegalStateException("subscribed to twice");
      }
      body.subscribe(subscriber);
    }
  }

  /** Each call of request() publishes, which may call it again. */
  @Test
  void publishersMayPublishInTheRequest() {
    AsyncRequestBody body =
        new AsyncRequestBody() {
          @Override
          public Optional<Long> contentLength() {
            return Optional.of((long) SIZE);
          }

          @Override
          public void subscribe(Subscriber<? super ByteBuffer> subscriber) {
            subscriber.onSubscribe(
                new Subscription() {
                  private int next;

                  @Override
                  public void request(long n) {
                    for (long i = 0; i < n && next < SIZE; i++) {
                      subscriber.onNext(ByteBuffer.wrap(DATA, next++, 1));
                      if (next == SIZE) {
                        subscriber.onComplete();
                      }
                    }
                  }

                  @Override
                  public void cancel() {
                    next = SIZE;
                  }
                });
          }
        };
    Program.result(rig.asyncClient().putObject(Program.put().build(), body));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertEquals(1, rig.counter(S3Counter.PUT));
  }

  private static final Set<Fault> OF_PUT = EnumSet.complementOf(EnumSet.copyOf(OF_GET));

  static Set<Fault> faultsOfPut() {
    return OF_PUT;
  }

  @ParameterizedTest
  @MethodSource("faultsOfPut")
  void streamsThatAreReadOnceAreStored(Fault fault) {
    rig.server.faults().next(1, fault);
    rig.client()
        .putObject(Program.put().build(), RequestBody.fromInputStream(onceReadable(), SIZE));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertRepeated(Operation.PUT_OBJECT, counter(fault, false));
  }

  @ParameterizedTest
  @MethodSource("faultsOfPut")
  void publishersThatAreReadOnceAreStored(Fault fault) {
    rig.server.faults().next(1, fault);
    Program.result(rig.asyncClient().putObject(Program.put().build(), new OnceSubscribable()));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertRepeated(Operation.PUT_OBJECT, counter(fault, false));
  }

  @Test
  void bodiesThatAreReadOnceSurviveADecline() {
    rig.server.profile(Profile.DECLINES_IN_SPEC_WAY);
    rig.client()
        .putObject(Program.put().build(), RequestBody.fromInputStream(onceReadable(), SIZE));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    rig.server.profile(Profile.DECLINES_BY_ERROR);
    rig.server.objects().clear();
    rig.settings.put("timeout", "299s"); // Another endpoint, which has not declined.
    Program.result(rig.asyncClient().putObject(Program.put().build(), new OnceSubscribable()));
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertEquals(2, Program.tokens(rig).size());
    assertTrue(rig.counter(S3Counter.DECLINED_BY_SERVER) == 2);
  }

  /** A stream ends before its length, or after it: as without the bridge. */
  @Test
  void streamsOfAnotherLengthEndAsByHttp() {
    for (int length : new int[] {SIZE - 1000, SIZE + 1000}) {
      rig.settings.put("minBytes", "1");
      Object byRdma = outcome(length);
      rig.settings.put("minBytes", "8m");
      assertEquals(outcome(length), byRdma, "length " + length);
    }
  }

  private Object outcome(int length) {
    rig.server.objects().clear();
    try {
      rig.client()
          .putObject(Program.put().build(), RequestBody.fromInputStream(onceReadable(), length));
      return Arrays.hashCode(rig.stored(Program.KEY));
    } catch (RuntimeException e) {
      return e.getClass();
    }
  }
}
