package dev.verbena.s3;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import software.amazon.awssdk.http.Abortable;

/**
 * Ends the body of an HTTP response that nobody reads: a short one is read, so that its connection
 * can be used again.
 */
final class Unwanted implements Subscriber<ByteBuffer> {
  private static final int SHORT = 64 << 10;

  private Subscription subscription;
  private long count;

  /** Ends a stream. */
  static void end(InputStream body) {
    try (body) {
      if (body.readNBytes(SHORT).length == SHORT && body instanceof Abortable abortable) {
        abortable.abort();
      }
    } catch (IOException e) { // The connection is not used again.
      Log.LOGGER.log(System.Logger.Level.DEBUG, "the body of a response was not read", e);
    }
  }

  @Override
  public void onSubscribe(Subscription s) {
    subscription = s;
    s.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(ByteBuffer buffer) {
    count += buffer.remaining();
    if (count >= SHORT) {
      subscription.cancel();
    }
  }

  @Override
  public void onError(Throwable cause) {
    Log.LOGGER.log(System.Logger.Level.DEBUG, "the body of a response was not read", cause);
  }

  @Override
  public void onComplete() {
    Log.LOGGER.log(System.Logger.Level.TRACE, "a body of {0} bytes was not used", count);
  }
}
