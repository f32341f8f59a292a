package dev.verbena.sockets;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** The keep-alive messages of a connection, while SO_KEEPALIVE is set. */
final class KeepAlive {
  /** The options that the messages are sent by; null while none are. Guarded by this. */
  private Options options;

  private long seconds;

  /** Incremented when the interval begins anew. */
  private int round;

  /** Starts, continues or ends, as the options say. */
  synchronized void start(RdmaStream stream, Options now) {
    options = now;
    if (!now.isKeptAlive()) {
      seconds = 0;
      round++;
    } else if (now.keepAliveSeconds() != seconds) {
      seconds = now.keepAliveSeconds();
      schedule(stream, ++round);
    }
  }

  private void schedule(RdmaStream stream, int current) {
    Executor later =
        CompletableFuture.delayedExecutor(
            seconds, TimeUnit.SECONDS, task -> Thread.ofVirtual().start(task));
    later.execute(() -> send(stream, current));
  }

  private synchronized void send(RdmaStream stream, int current) {
    if (current == round && options.isKeptAlive() && stream.keepAlive()) {
      schedule(stream, current);
    }
  }
}
