package dev.verbena.s3;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4FamilyHttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.AsyncSignRequest;
import software.amazon.awssdk.http.auth.spi.signer.AsyncSignedRequest;
import software.amazon.awssdk.http.auth.spi.signer.BaseSignRequest;
import software.amazon.awssdk.http.auth.spi.signer.HttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.SignRequest;
import software.amazon.awssdk.http.auth.spi.signer.SignedRequest;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;

/**
 * Signs the attempts of a call, and makes the first one a proposal of RDMA: the content moves to
 * registered memory, and a token takes its place in the request.
 */
final class RdmaSigner implements HttpSigner<AwsCredentialsIdentity> {
  private final HttpSigner<AwsCredentialsIdentity> signer;
  private final Transfer transfer;

  RdmaSigner(HttpSigner<AwsCredentialsIdentity> signer, Transfer transfer) {
    this.signer = signer;
    this.transfer = transfer;
  }

  @Override
  public SignedRequest sign(SignRequest<? extends AwsCredentialsIdentity> request) {
    Attempt attempt = Attempt.begin(transfer, request, request.payload().orElse(null));
    if (attempt != null && !isFilled(attempt, request)) {
      transfer.retreat();
      attempt = null;
    }
    if (attempt == null) {
      Content again = transfer.again();
      return signer.sign(
          again == null ? request : request.toBuilder().payload(again::stream).build());
    }
    SignedRequest signed =
        signer.sign(
            withoutBody(request.toBuilder().request(attempt.proposal()).payload(null)).build());
    offer(attempt);
    return request.request().method() == SdkHttpMethod.GET
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
    Attempt attempt = Attempt.begin(transfer, request, null);
    if (attempt == null) {
      return signPlain(request);
    }
    CompletableFuture<Boolean> filled = new CompletableFuture<>();
    boolean isEncoded = // By versions before 2.46: for HTTP, after the interceptors.
        request.request().firstMatchingHeader(Attempt.DECODED_LENGTH).isPresent();
    Publisher<ByteBuffer> content = isEncoded ? transfer.body() : request.payload().orElse(null);
    if (attempt.wantsContent() && content != null) {
      content.subscribe(new Filler(attempt, filled));
    } else {
      filled.complete(!attempt.wantsContent());
    }
    return filled.thenCompose(
        isFilled -> isFilled ? propose(attempt, request) : retreat(attempt, request));
  }

  private CompletableFuture<AsyncSignedRequest> signPlain(
      AsyncSignRequest<? extends AwsCredentialsIdentity> request) {
    Content again = transfer.again();
    if (again == null) {
      return signer.signAsync(request);
    }
    var builder = request.toBuilder().payload(again.publisher());
    return signer.signAsync(
        request.request().firstMatchingHeader(Attempt.DECODED_LENGTH).isEmpty()
            ? builder.build()
            : withoutBody(builder.request(Attempt.repetition(request.request(), again))).build());
  }

  private CompletableFuture<AsyncSignedRequest> retreat(
      Attempt attempt, AsyncSignRequest<? extends AwsCredentialsIdentity> request) {
    if (attempt.lease().is(Lease.State.ENDED)) {
      offer(attempt);
    }
    transfer.retreat();
    return signer.signAsync(request);
  }

  private CompletableFuture<AsyncSignedRequest> propose(
      Attempt attempt, AsyncSignRequest<? extends AwsCredentialsIdentity> request) {
    return signer
        .signAsync(
            withoutBody(request.toBuilder().request(attempt.proposal()).payload(null)).build())
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
        attempt.lease().append(MemorySegment.ofBuffer(buffer));
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
