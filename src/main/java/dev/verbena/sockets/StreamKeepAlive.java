package dev.verbena.sockets;

import dev.verbena.internal.time.Time;
import java.util.concurrent.TimeUnit;

/**
 * Ends a connection whose peer cannot be reached any more, by the rules of TCP: if nothing was
 * heard of the peer for a time, its device is asked for an acknowledgement, and if none has come
 * after a number of intervals, the connection fails. The device's retries may end it before; on
 * Soft-RoCE they have no end.
 *
 * @param idle the seconds without a message or an acknowledgement of the peer: {@code TCP_KEEPIDLE}
 * @param interval the seconds of an interval: {@code TCP_KEEPINTERVAL}
 * @param count the number of intervals: {@code TCP_KEEPCOUNT}
 */
record StreamKeepAlive(int idle, int interval, int count) {
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
