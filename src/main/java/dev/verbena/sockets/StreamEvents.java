package dev.verbena.sockets;

import dev.verbena.internal.Inside;
import dev.verbena.internal.SharedWait;
import dev.verbena.internal.io.Readiness;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;

/**
 * The completion events of a stream, and the threads that wait for them. One thread waits for the
 * descriptor, the others for that thread. All methods are called with the lock of the stream held
 * once, but for {@link #wake} and {@link #stop}.
 */
final class StreamEvents {
  private final CompletionChannel channel;
  private final CompletionQueue sends;
  private final CompletionQueue receives;
  private final int descriptor;
  private final ScopedLock lock;
  private final SharedWait wait;
  private Readiness readiness;
  private boolean isReceiveArmed;
  private boolean isSendArmed;

  /** Whether an action waits for the descriptor. */
  private boolean isWatched;

  private boolean isStopped;

  StreamEvents(StreamQueues queues, ScopedLock lock) {
    channel = queues.channel();
    sends = queues.sends();
    receives = queues.receives();
    this.lock = lock;
    wait = new SharedWait(lock);
    descriptor = channel.descriptor(Inside.LIBRARY);
    readiness = Readiness.of(descriptor, channel.toString());
  }

  /** Returns the descriptor that is readable when a queue has an event. */
  int descriptor() {
    return descriptor;
  }

  /**
   * Requests an event of the receives, and one of the sends if that is wanted.
   *
   * @return whether a queue was not armed before, and must be polled again
   */
  boolean arm(boolean withSends) {
    boolean isNew = false;
    if (!isReceiveArmed) {
      receives.requestNotification();
      isReceiveArmed = true;
      isNew = true;
    }
    if (withSends && !isSendArmed) {
      sends.requestNotification();
      isSendArmed = true;
      isNew = true;
    }
    return isNew;
  }

  /** Reads the events that are there; returns whether there was one. */
  boolean read() {
    CompletionQueue queue = channel.poll();
    boolean isAny = queue != null;
    while (queue != null) {
      isReceiveArmed &= !queue.equals(receives);
      isSendArmed &= !queue.equals(sends);
      queue = channel.poll();
    }
    return isAny;
  }

  /** Waits once for an event, a signal of another thread, or a time. */
  void await(long nanos) throws InterruptedException {
    if (!wait.begin(nanos)) {
      return;
    }
    Readiness file = readiness;
    lock.unlock();
    try {
      boolean _ = file.await(nanos);
    } finally {
      lock.lock();
      wait.end();
      if (!isStopped) {
        boolean _ = read();
      }
    }
  }

  /**
   * Runs an action in a thread of its own when a queue has an event, unless a thread waits, which
   * watches again when it does not wait any more.
   */
  void watch(Runnable action) {
    if (!isWatched && !wait.isAwaited() && !isStopped) {
      isWatched = true;
      readiness.whenReadable(action);
    }
  }

  /** The action runs; returns whether no thread waits, whose events they are otherwise. */
  boolean endWatch() {
    isWatched = false;
    return !wait.isAwaited() && !isStopped;
  }

  /** Makes the threads that wait for another thread examine the stream again. */
  void signal() {
    wait.signal();
  }

  /** Makes all threads that wait examine the stream again. The lock is not held. */
  void wake() {
    Readiness old;
    try (var _ = lock.hold()) {
      signal();
      if (!wait.isAwaited() || isStopped) {
        return;
      }
      isWatched = false; // The old wait may have had the action.
      old = readiness;
      readiness = Readiness.of(descriptor, channel.toString());
    }
    old.close();
  }

  /** Ends all waits, before the queues are destroyed. The lock is not held. */
  void stop() {
    try (var _ = lock.hold()) {
      isStopped = true;
      signal();
    }
    readiness.close();
  }
}
