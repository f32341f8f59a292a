package dev.verbena.s3;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Publishes copies of data outside the heap: a subscriber may keep what it gets, but the memory is
 * used again.
 */
final class DataPublisher implements Publisher<ByteBuffer> {
  private static final int CHUNK = 128 << 10;

  private final Data data;

  DataPublisher(Data data) {
    this.data = data;
  }

  @Override
  public void subscribe(Subscriber<? super ByteBuffer> subscriber) {
    subscriber.onSubscribe(new Copies(data, subscriber));
  }

  /** Signals one after the other, also if requests come from within one or from other threads. */
  private static final class Copies implements Subscription {
    private final Data data;
    private final Subscriber<? super ByteBuffer> subscriber;
    private long position;
    private long requested;
    private boolean isSignaling;
    private boolean isDone;
    private Throwable failure;

    Copies(Data data, Subscriber<? super ByteBuffer> subscriber) {
      this.data = data;
      this.subscriber = subscriber;
    }

    @Override
    public void request(long count) {
      synchronized (this) {
        if (count <= 0) {
          failure = new IllegalArgumentException("request of " + count);
        }
        requested = requested + count < 0 ? Long.MAX_VALUE : requested + Math.max(0, count);
        if (isSignaling || isDone) {
          return;
        }
        isSignaling = true;
      }
      for (Runnable signal = next(); signal != null; signal = next()) {
        signal.run();
      }
    }

    private synchronized Runnable next() {
      if (isDone) {
        return null;
      }
      if (failure == null && position < data.length()) {
        if (requested == 0) {
          isSignaling = false;
          return null;
        }
        requested--;
        try {
          ByteBuffer copy = copy();
          return () -> subscriber.onNext(copy);
        } catch (IOException e) {
          failure = e;
        }
      }
      isDone = true;
      data.close();
      Throwable cause = failure;
      return cause == null ? subscriber::onComplete : () -> subscriber.onError(cause);
    }

    private ByteBuffer copy() throws IOException {
      byte[] bytes = new byte[(int) Math.min(CHUNK, data.length() - position)];
      data.copy(position, MemorySegment.ofArray(bytes));
      position += bytes.length;
      return ByteBuffer.wrap(bytes);
    }

    @Override
    public synchronized void cancel() {
      isDone = true;
      data.close();
    }
  }
}
