package dev.verbena.sockets;

import dev.verbena.internal.time.Time;
import java.util.concurrent.TimeUnit;

/**
 * Ends a connection whose peer cannot be reached any more, by the rules of TCP: after some seconds
 * without a message or an acknowledgement of the peer ({@code TCP_KEEPIDLE}), its device is asked
 * for one. If none comes within a number of intervals ({@code TCP_KEEPCOUNT}, {@code
 * TCP_KEEPINTERVAL}), the connection fails; by the device's retries, perhaps, before.
 */
record StreamKeepAlive(int idle, int interval, int count) {
  /** That of TCP on Linux. */
  static final StreamKeepAlive UNSET = new StreamKeepAlive(7200, 75, 9);

  /** Starts the keep-alive of a stream: a thread that ends with the connection or an interrupt. */
  Thread start(RdmaStream stream) {
    return Thread.ofVirtual().name("keep-alive of " + stream).start(() -> watch(stream));
  }

  /**
   * Counts the intervals: a process that was stopped for longer has not heard the peer's answer.
   */
  private void watch(RdmaStream stream) {
    long longest = TimeUnit.SECONDS.toNanos(idle);
    int waited = 0;
    try {
      while (true) {
        long silence = stream.silence();
        if (silence < 0) {
          return;
        } else if (silence < longest) {
          waited = 0;
          Time.sleep(longest - silence);
        } else if (waited == count) {
          stream.fail(
              "Connection timed out: the peer has acknowledged no keep-alive within %d s"
                  .formatted(interval * count));
          return;
        } else {
          if (waited++ == 0) {
            stream.keepAlive();
          }
          Time.sleep(TimeUnit.SECONDS.toNanos(interval));
        }
      }
    } catch (InterruptedException e) {
      // The connection is closed, or the options have changed.
    }
  }
}
