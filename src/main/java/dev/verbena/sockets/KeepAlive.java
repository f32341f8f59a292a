package dev.verbena.sockets;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The keep-alive messages of a connection, while SO_KEEPALIVE is set. */
final class KeepAlive {
  private long seconds;

  /** What the timer completes to send the next message; guarded by this. */
  private CompletableFuture<Void> next = new CompletableFuture<>();

  /** Counts the changes of the options. */
  private int changes;

  private boolean isStopped;

  /** Starts, continues or ends, as the options say. */
  synchronized void start(RdmaStream stream, Options now) {
    long wanted = now.isKeptAlive() ? now.keepAliveSeconds() : 0;
    if (wanted != seconds) {
      seconds = wanted;
      changes++;
      boolean _ = next.cancel(false); // The timer drops it, and with it the stream.
      schedule(stream);
    }
  }

  private void schedule(RdmaStream stream) {
    if (seconds > 0 && !isStopped) {
      int current = changes;
      next = new CompletableFuture<Void>().completeOnTimeout(null, seconds, TimeUnit.SECONDS);
      var _ = next.thenRunAsync(() -> send(stream, current), Thread.ofVirtual()::start);
    }
  }

  /** Not under the lock while the stream has its own: the stream calls {@link #stop}. */
  private void send(RdmaStream stream, int scheduled) {
    boolean continues = stream.keepAlive();
    synchronized (this) {
      if (continues && changes == scheduled) {
        schedule(stream);
      }
    }
  }

  /** Ends for good. */
  synchronized void stop() {
    isStopped = true;
    boolean _ = next.cancel(false);
  }
}
