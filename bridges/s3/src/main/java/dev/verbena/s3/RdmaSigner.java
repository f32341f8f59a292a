package dev.verbena.s3;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4FamilyHttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.AsyncSignRequest;
import software.amazon.awssdk.http.auth.spi.signer.AsyncSignedRequest;
import software.amazon.awssdk.http.auth.spi.signer.BaseSignRequest;
import software.amazon.awssdk.http.auth.spi.signer.HttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.SignRequest;
import software.amazon.awssdk.http.auth.spi.signer.SignedRequest;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;

/**
 * Signs each attempt of a call, and makes the first one a proposal of RDMA: the content moves to
 * registered memory, and a token takes its place in the request.
 */
final class RdmaSigner implements HttpSigner<AwsCredentialsIdentity> {
  private final HttpSigner<AwsCredentialsIdentity> signer;

  private RdmaSigner(HttpSigner<AwsCredentialsIdentity> signer) {
    this.signer = signer;
  }

  static HttpSigner<AwsCredentialsIdentity> of(HttpSigner<AwsCredentialsIdentity> signer) {
    return signer instanceof RdmaSigner ? signer : new RdmaSigner(signer);
  }

  private static SdkHttpRequest unmarked(SdkHttpRequest request) {
    return request.toBuilder().removeHeader(Calls.HEADER).build();
  }

  @Override
  public SignedRequest sign(SignRequest<? extends AwsCredentialsIdentity> request) {
    return Calls.of(request.request())
        .map(transfer -> sign(transfer, request.toBuilder()))
        .orElseGet(() -> signer.sign(request));
  }

  private <T extends AwsCredentialsIdentity> SignedRequest sign(
      Transfer transfer, SignRequest.Builder<T> builder) {
    SignRequest<T> marked = builder.build();
    SignRequest<T> plain = builder.request(unmarked(marked.request())).build();
    Attempt attempt = Attempt.begin(transfer, plain.request(), plain);
    if (attempt != null && !isFilled(attempt, plain)) {
      transfer.retreat();
      attempt = null;
    }
    if (attempt == null) {
      Content again = transfer.again();
      return signer.sign(
          again == null ? plain : builder.payload(() -> new DataStream(again)).build());
    }
    SignedRequest signed =
        signer.sign(withoutBody(builder.request(attempt.proposal()).payload(null)).build());
    offer(attempt);
    return attempt.request().method() == SdkHttpMethod.GET
        ? signed
        // The client of java.net.HttpURLConnection wants a body where there is a Content-Length.
        : signed.toBuilder().payload(InputStream::nullInputStream).build();
  }

  /** Copies the content; returns false if it cannot be read, or has another length than it says. */
  private static boolean isFilled(Attempt attempt, SignRequest<?> request) {
    ContentStreamProvider content = request.payload().orElse(null);
    if (attempt.wantsContent() && content != null) {
      try (InputStream stream = content.newStream()) {
        stream.transferTo(attempt.sink());
      } catch (IOException e) { // The SDK will report it.
        Log.LOGGER.log(Level.DEBUG, "the content of a call cannot be read", e);
        return false;
      }
    }
    return !attempt.wantsContent();
  }

  @Override
  public CompletableFuture<AsyncSignedRequest> signAsync(
      AsyncSignRequest<? extends AwsCredentialsIdentity> request) {
    return Calls.of(request.request())
        .map(transfer -> signAsync(transfer, request.toBuilder()))
        .orElseGet(() -> signer.signAsync(request));
  }

  private <T extends AwsCredentialsIdentity> CompletableFuture<AsyncSignedRequest> signAsync(
      Transfer transfer, AsyncSignRequest.Builder<T> builder) {
    AsyncSignRequest<T> marked = builder.build();
    AsyncSignRequest<T> plain = builder.request(unmarked(marked.request())).build();
    Attempt attempt = Attempt.begin(transfer, plain.request(), plain);
    if (attempt == null) {
      return signPlain(transfer, plain);
    }
    CompletableFuture<Boolean> filled = new CompletableFuture<>();
    Publisher<ByteBuffer> content = transfer.body();
    if (attempt.wantsContent() && content != null) {
      content.subscribe(new Filler(attempt, filled));
    } else {
      filled.complete(!attempt.wantsContent());
    }
    return filled.thenCompose(
        isFilled -> isFilled ? propose(attempt, builder) : retreat(transfer, attempt, plain));
  }

  private <T extends AwsCredentialsIdentity> CompletableFuture<AsyncSignedRequest> signPlain(
      Transfer transfer, AsyncSignRequest<T> plain) {
    Content again = transfer.again();
    if (again == null) {
      return signer.signAsync(plain);
    }
    AsyncSignRequest.Builder<T> builder = plain.toBuilder().payload(new DataPublisher(again));
    return signer.signAsync(
        plain.request().firstMatchingHeader(Attempt.DECODED_LENGTH).isEmpty()
            ? builder.build()
            : withoutBody(builder.request(Attempt.repetition(plain.request(), again))).build());
  }

  private <T extends AwsCredentialsIdentity> CompletableFuture<AsyncSignedRequest> retreat(
      Transfer transfer, Attempt attempt, AsyncSignRequest<T> plain) {
    if (attempt.lease().hasEnded()) {
      offer(attempt);
    }
    transfer.retreat();
    return signer.signAsync(plain);
  }

  private <T extends AwsCredentialsIdentity> CompletableFuture<AsyncSignedRequest> propose(
      Attempt attempt, AsyncSignRequest.Builder<T> builder) {
    return signer
        .signAsync(withoutBody(builder.request(attempt.proposal()).payload(null)).build())
        .thenApply(
            signed -> {
              offer(attempt);
              return signed;
            });
  }

  /** A call that has ended in the meantime must not send a token: others have the memory. */
  private static void offer(Attempt attempt) {
    if (!attempt.lease().offer()) {
      throw SdkClientException.create("the call ended before its request was sent");
    }
  }

  /** Over plain HTTP, too, servers want {@code UNSIGNED-PAYLOAD}. */
  private static <B extends BaseSignRequest.Builder<B, ?, ?>> B withoutBody(B builder) {
    return builder
        .putProperty(AwsV4FamilyHttpSigner.CHUNK_ENCODING_ENABLED, false)
        .putProperty(AwsV4FamilyHttpSigner.PAYLOAD_SIGNING_ENABLED, false)
        .putProperty(AwsV4FamilyHttpSigner.CHECKSUM_ALGORITHM, null);
  }

  /** Copies the content that is published. */
  private static final class Filler implements Subscriber<ByteBuffer> {
    private final Attempt attempt;
    private final CompletableFuture<Boolean> filled;
    private Subscription subscription;

    Filler(Attempt attempt, CompletableFuture<Boolean> filled) {
      this.attempt = attempt;
      this.filled = filled;
    }

    @Override
    public void onSubscribe(Subscription s) {
      subscription = s;
      s.request(Long.MAX_VALUE); // One by one, a publisher may recurse: each call publishes.
    }

    @Override
    public void onNext(ByteBuffer buffer) {
      try {
        attempt.lease().append(buffer);
      } catch (IOException e) { // The SDK will report it.
        Log.LOGGER.log(Level.DEBUG, "the content of a call is too long", e);
        subscription.cancel();
        filled.complete(false);
      }
    }

    @Override
    public void onError(Throwable cause) {
      filled.completeExceptionally(cause);
    }

    @Override
    public void onComplete() {
      filled.complete(!attempt.wantsContent());
    }
  }
}
