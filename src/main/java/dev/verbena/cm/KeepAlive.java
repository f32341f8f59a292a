package dev.verbena.cm;

import dev.verbena.RdmaException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Notices that a silent peer has gone: if nothing was heard of it for an interval, asks its device
 * for an acknowledgement.
 */
final class KeepAlive {
  /** Asks the peer's device for an acknowledgement, and ends the connection if none comes. */
  interface Probe {
    void ask(Duration silence) throws InterruptedException;
  }

  private final Duration interval;
  private final LongSupplier heard;
  private final Probe probe;
  private Thread thread;

  /**
   * Creates a keep-alive that is not yet started.
   *
   * @param heard returns a number that changes when something was heard of the peer
   */
  KeepAlive(Duration interval, LongSupplier heard, Probe probe) {
    this.interval = interval;
    this.heard = heard;
    this.probe = probe;
  }

  void start(String name) {
    thread = Thread.ofVirtual().name(name).start(this::watch);
  }

  private void watch() {
    long last = heard.getAsLong();
    long lastTime = System.nanoTime();
    try {
      while (true) {
        TimeUnit.NANOSECONDS.sleep(interval.toNanos());
        long now = heard.getAsLong();
        if (now != last) {
          last = now;
          lastTime = System.nanoTime();
        } else {
          probe.ask(Duration.ofNanos(System.nanoTime() - lastTime));
        }
      }
    } catch (InterruptedException | IllegalStateException e) {
      // The connection is closed.
    } catch (RdmaException e) {
      // The connection has failed: its operations throw the reason.
    }
  }

  void stop() {
    thread.interrupt();
  }
}
