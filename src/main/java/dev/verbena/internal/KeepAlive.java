package dev.verbena.internal;

import dev.verbena.RdmaException;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Notices that a silent peer has gone: if nothing was heard of it for an interval, asks its device
 * for an acknowledgement. A virtual thread does this until it is stopped, or the connection ends.
 */
public final class KeepAlive {
  /** Asks the peer's device for an acknowledgement. */
  public interface Probe {
    /**
     * Asks; ends the connection if no acknowledgement comes.
     *
     * @param silence how long nothing was heard of the peer
     * @return whether to ask again after a further interval
     * @throws RdmaException if the connection has failed
     * @throws IllegalStateException if the connection is closed
     */
    boolean ask(Duration silence) throws InterruptedException;
  }

  private final Thread thread;

  private KeepAlive(Thread thread) {
    this.thread = thread;
  }

  /**
   * Starts a keep-alive.
   *
   * @param connection the name of the connection
   * @param heard returns a number that changes when something was heard of the peer
   */
  public static KeepAlive start(
      String connection, Duration interval, LongSupplier heard, Probe probe) {
    return new KeepAlive(
        Thread.ofVirtual()
            .name("keep-alive of " + connection)
            .start(() -> watch(interval, heard, probe)));
  }

  private static void watch(Duration interval, LongSupplier heard, Probe probe) {
    long last = heard.getAsLong();
    long lastTime = Time.now();
    try {
      boolean continues = true;
      while (continues) {
        Time.sleep(interval.toNanos());
        long now = heard.getAsLong();
        if (now != last) {
          last = now;
          lastTime = Time.now();
        } else {
          continues = probe.ask(Duration.ofNanos(Time.now() - lastTime));
        }
      }
    } catch (InterruptedException | IllegalStateException e) {
      // The connection is closed.
    } catch (RdmaException e) {
      // The connection has failed: its operations throw the reason.
    }
  }

  /** Ends the keep-alive, also while it asks. */
  public void stop() {
    thread.interrupt();
  }

  /** Ends the keep-alive, and waits until it has ended, or until the deadline. */
  public void stop(Deadline deadline) {
    stop();
    Uninterrupted.await(() -> Time.join(thread, deadline.remaining()));
  }
}
