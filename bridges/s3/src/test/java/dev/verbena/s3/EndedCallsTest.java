package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.s3.server.Profile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.exception.RetryableException;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.auth.spi.signer.AsyncSignRequest;
import software.amazon.awssdk.http.auth.spi.signer.AsyncSignedRequest;
import software.amazon.awssdk.http.auth.spi.signer.HttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.SignRequest;
import software.amazon.awssdk.http.auth.spi.signer.SignedRequest;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectResponse;

/** Calls that end while their content is being copied to the memory. */
@Timeout(300)
class EndedCallsTest {
  private static final int SIZE = 1 << 20;
  private static final byte[] DATA = Rig.random(SIZE);

  private Rig rig;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  /** Publishes a part of the data, and the rest when it is told to. */
  private static final class Content implements AsyncRequestBody {
    private final List<Subscriber<? super ByteBuffer>> waiting = new CopyOnWriteArrayList<>();
    private final AtomicInteger waits;
    private final int first;

    Content(int first, int waits) {
      this.first = first;
      this.waits = new AtomicInteger(waits);
    }

    @Override
    public Optional<Long> contentLength() {
      return Optional.of((long) SIZE);
    }

    @Override
    public void subscribe(Subscriber<? super ByteBuffer> subscriber) {
      boolean isWaiting = waits.getAndDecrement() > 0;
      subscriber.onSubscribe(
          new Subscription() {
            private boolean hasBegun;

            @Override
            public void request(long count) {
              if (!hasBegun) {
                hasBegun = true;
                subscriber.onNext(ByteBuffer.wrap(DATA, 0, first).slice());
                if (isWaiting) {
                  waiting.add(subscriber);
                } else {
                  finish(subscriber);
                }
              }
            }

            @Override
            public void cancel() {
              hasBegun = true;
            }
          });
    }

    private void finish(Subscriber<? super ByteBuffer> subscriber) {
      if (first < SIZE) {
        subscriber.onNext(ByteBuffer.wrap(DATA, first, SIZE - first).slice());
      }
      subscriber.onComplete();
    }

    void finish() {
      waiting.forEach(this::finish);
    }
  }

  private long inUse() {
    return rig.used().bytes() - rig.used().freeBytes();
  }

  @ParameterizedTest
  @ValueSource(ints = {1000, SIZE})
  void theMemoryOfACallThatEndedIsGivenBackAfterItsContent(int first) throws Exception {
    rig.settings.put("timeout", "1s");
    S3AsyncClient client = rig.asyncClient();
    Content content = new Content(first, 1);
    CompletableFuture<PutObjectResponse> call =
        client.putObject(
            Program.put()
                .overrideConfiguration(o -> o.apiCallTimeout(Duration.ofSeconds(1)))
                .build(),
            content);
    Until.holds("the content is asked for", () -> content.waiting.size() == 1);
    assertEquals(SIZE, inUse());
    Until.holds("the call ends", call::isDone);
    assertThrows(RuntimeException.class, call::join);
    assertEquals(List.of(), Program.tokens(rig));
    content.finish();
    Until.holds("the memory is given back", () -> inUse() == 0);
    client.putObject(Program.put().build(), AsyncRequestBody.fromBytes(DATA)).join();
    assertArrayEquals(DATA, rig.stored(Program.KEY));
  }

  /** The call ends between the choice of the memory and the end of the signing. */
  @Test
  void aCallThatEndedSendsNoToken() {
    Transfer[] transfer = new Transfer[1];
    HttpSigner<AwsCredentialsIdentity> ending =
        new HttpSigner<>() {
          @Override
          public SignedRequest sign(SignRequest<? extends AwsCredentialsIdentity> request) {
            transfer[0].fail();
            return SignedRequest.builder().request(request.request()).build();
          }

          @Override
          public CompletableFuture<AsyncSignedRequest> signAsync(
              AsyncSignRequest<? extends AwsCredentialsIdentity> request) {
            transfer[0].fail();
            return CompletableFuture.completedFuture(
                AsyncSignedRequest.builder().request(request.request()).build());
          }
        };
    for (boolean isAsync : new boolean[] {false, true}) {
      transfer[0] =
          new Transfer(Operation.GET_OBJECT, Endpoints.of(rig.settings()), true, null, null);
      SdkHttpRequest request =
          SdkHttpRequest.builder()
              .method(SdkHttpMethod.GET)
              .uri(rig.uri())
              .putHeader("Range", "bytes=0-999999")
              .build();
      HttpSigner<AwsCredentialsIdentity> signer = new RdmaSigner(ending, transfer[0]);
      AwsCredentialsIdentity identity = AwsCredentialsIdentity.create("a", "b");
      assertThrows(
          SdkClientException.class,
          () -> {
            if (isAsync) {
              Program.result(signer.signAsync(b -> b.request(request).identity(identity)));
            } else {
              signer.sign(b -> b.request(request).identity(identity));
            }
          });
      assertEquals(0, inUse());
      assertEquals(0, rig.counter(S3Counter.DISCARDED));
    }
  }

  @Test
  void contentThatFailsGivesTheMemoryBack() throws Exception {
    Content content = new Content(1000, 100);
    CompletableFuture<PutObjectResponse> call =
        rig.asyncClient().putObject(Program.put().build(), content);
    Until.holds("the content is asked for", () -> content.waiting.size() == 1);
    content.waiting.getFirst().onError(new IllegalStateException("wanted"));
    assertThrows(RuntimeException.class, call::join);
    Until.holds("the memory is given back", () -> inUse() == 0);
    assertEquals(List.of(), Program.tokens(rig));
  }

  @Test
  void memoryThatWasGivenBackIsNotTouched() throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(SIZE);
      AtomicInteger ends = new AtomicInteger();
      Lease lease =
          new Lease(
              memory,
              "token",
              Duration.ofDays(1),
              new Window().enter(),
              isFree -> ends.addAndGet(isFree ? 1 : 10));
      lease.end();
      lease.mark();
      assertThrows(IOException.class, () -> lease.append(MemorySegment.ofArray(DATA)));
      assertEquals(-1, memory.mismatch(arena.allocate(SIZE)));
      assertFalse(lease.offer());
      assertFalse(lease.answer());
      assertFalse(lease.keep());
      assertFalse(lease.copy(0, MemorySegment.ofArray(new byte[1])));
      lease.end();
      assertEquals(1, ends.get());
    }
  }

  /** What was received is given back, also if nobody has closed it. */
  @Test
  void aResponseThatIsReadAgainGivesTheMemoryBack() {
    rig.client().putObject(Program.put().build(), RequestBody.fromBytes(DATA));
    AtomicInteger attempts = new AtomicInteger();
    Integer result =
        rig.client()
            .getObject(
                Program.get("bytes=0-999999").build(),
                ResponseTransformer.unmanaged(
                    (GetObjectResponse _, AbortableInputStream _) -> {
                      if (attempts.incrementAndGet() == 1) {
                        throw RetryableException.create("wanted");
                      }
                      return 7;
                    }));
    assertEquals(7, result);
    assertEquals(2, attempts.get());
    assertEquals(0, inUse());
    assertThrows(
        SdkException.class,
        () ->
            rig.client()
                .getObject(
                    Program.get("bytes=0-999999").build(),
                    ResponseTransformer.unmanaged(
                        (GetObjectResponse _, AbortableInputStream _) -> {
                          throw SdkClientException.create("wanted");
                        })));
    assertEquals(0, inUse());
  }
}
