package dev.verbena.sockets;

import dev.verbena.VerbsException;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.util.concurrent.TimeUnit;

/**
 * Continues what a stream has pending when the program does not call: data and messages that wait
 * for the peer, and the end. While the program calls, its calls continue it, and no event is read
 * by another thread. All methods are called with the lock of the stream held, but those that run in
 * threads of their own.
 */
final class PendingOutput {
  /** How long a program does not call before events continue what is pending. */
  private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(1);

  private final ScopedLock lock;
  private final StreamState state;
  private final StreamEvents events;
  private final StreamProtocol protocol;

  /** Is called after a thread of this class has read events of the descriptor. */
  private final Runnable changed;

  private final Runnable look = this::startLook;
  private final Runnable drive = this::drive;

  /** Whether the stream is looked at later. */
  private boolean isLater;

  /** Whether the program has called since the last look. */
  private boolean isCalled;

  PendingOutput(
      ScopedLock lock,
      StreamState state,
      StreamEvents events,
      StreamProtocol protocol,
      Runnable changed) {
    this.lock = lock;
    this.state = state;
    this.events = events;
    this.protocol = protocol;
    this.changed = changed;
  }

  /** The program has called: if it does not for a while, events continue what is pending. */
  void called() {
    isCalled = true;
    if (!isLater && protocol.isPending()) {
      isLater = true;
      Time.after(PAUSE, look);
    }
  }

  private void startLook() { // The thread of all timers must not wait for the lock.
    Time.start("pending output", this::look);
  }

  private void look() {
    try (var _ = lock.hold()) {
      isLater = false;
      if (isCalled) {
        called();
        isCalled = false;
      } else {
        watch();
      }
    }
  }

  /**
   * Lets events continue what is pending: those of a thread that waits, which calls {@link #called}
   * when it does not wait any more, or those that a thread of its own reads.
   */
  void watch() {
    try {
      boolean hasMore = false;
      while (!state.isReleased() && protocol.isPending()) {
        if (!protocol.arm(false) && !hasMore) {
          events.watch(drive);
          return;
        }
        hasMore = protocol.process();
      }
    } catch (VerbsException | IllegalStateException e) {
      state.fail(e);
    }
  }

  private void drive() {
    boolean hasRead;
    try (var _ = lock.hold()) {
      hasRead = events.endWatch() && protocol.readEvents();
      boolean _ = protocol.process();
      if (isCalled && !state.isEnding()) {
        called();
      } else {
        watch();
      }
    }
    if (hasRead) {
      changed.run(); // The events were also those of selectors.
    }
  }
}
