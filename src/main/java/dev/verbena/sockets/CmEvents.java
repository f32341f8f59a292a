package dev.verbena.sockets;

import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.CurrentProvider;
import dev.verbena.internal.Inside;
import dev.verbena.internal.Provider;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.io.Readiness;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The RDMA CM events of a connection or a listener: an event channel of its own, so that calls on
 * one connection do not wait for those on another. A thread is started when there is an event; no
 * thread waits.
 */
final class CmEvents implements AutoCloseable {
  private final EventChannel channel;
  private final Readiness readiness;
  private final Consumer<ConnectionEvent> receiver;

  /**
   * Held while events are read and processed, so that a thread which gets it knows: what librdmacm
   * has done when it returned an event, the receiver has processed. Of the locks of this package,
   * at most that of a {@link HybridChannel} is held when it is acquired.
   */
  private final ScopedLock lock = new ScopedLock();

  /** Whether a thread will be started for the next event; guarded by the lock, as is the next. */
  private boolean isArmed;

  private @Nullable Runnable whenHeld;

  /** When this began, or the last event that reports no failure was processed. */
  volatile long progressed = Time.now();

  private CmEvents(EventChannel channel, Consumer<ConnectionEvent> receiver) {
    this.channel = channel;
    this.receiver = receiver;
    this.readiness = Readiness.of(channel.descriptor(Inside.LIBRARY), channel.toString());
  }

  /** Opens a channel of a provider, whose events the receiver gets one after the other. */
  static CmEvents open(Provider provider, Consumer<ConnectionEvent> receiver) {
    CmEvents events;
    try {
      events = new CmEvents(CurrentProvider.call(provider, EventChannel::open), receiver);
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    try {
      try (var _ = events.lock.hold()) { // Before the first event.
        events.receiveNext();
      }
    } catch (Throwable t) { // No memory or descriptor is left for the wait.
      AfterFailure.close(t, events::close);
      throw t;
    }
    return events;
  }

  /** Creates an identifier whose events the receiver gets. */
  ConnectionId createId() {
    return channel.createId(PortSpace.TCP);
  }

  /** Makes the receiver get the events of an identifier of another channel. */
  void add(ConnectionId id) {
    id.migrate(channel);
  }

  private void receiveNext() {
    readiness.whenReadable(this::receive);
    isArmed = true;
  }

  private void receive() {
    Runnable held;
    try (var _ = lock.hold()) {
      isArmed = false;
      held = whenHeld;
      if (held == null) {
        receivePending();
      }
    }
    if (held != null) {
      held.run();
    }
  }

  /** Makes the receiver get the pending events; returns when it has processed each. */
  void receivePending() {
    try (var _ = lock.hold()) {
      boolean _ = ServiceLoop.attempt(this::receiveAll);
      if (!isArmed) {
        receiveNext();
      }
    }
  }

  /**
   * From now on only {@link #receivePending} reads events: librdmacm confirms a connection when it
   * returns the event of the peer's reply. Returns when no event is being processed.
   *
   * @param action is run when there is an event that was not read
   */
  void hold(Runnable action) {
    try (var _ = lock.hold()) {
      whenHeld = action;
    }
  }

  /** Returns whether there is an event that was not read, as {@link #hold} wants. */
  boolean isHolding() {
    try (var _ = lock.hold()) {
      return whenHeld != null && !isArmed;
    }
  }

  /** Ends {@link #hold}. */
  void resume() {
    try (var _ = lock.hold()) {
      whenHeld = null;
    }
    receivePending();
  }

  private void receiveAll() {
    ConnectionEvent event = poll();
    while (event != null) {
      boolean isProgress = event.status() == 0; // An attempt to resolve an address is repeated.
      receiver.accept(event);
      progressed = isProgress ? Time.now() : progressed;
      event = poll();
    }
  }

  private ConnectionEvent poll() {
    try {
      return channel.poll();
    } catch (IllegalStateException e) {
      if (channel.isOpen()) {
        throw e;
      }
      return null;
    }
  }

  /** Closes the channel with its identifiers. No event is received any more. */
  @Override
  public void close() {
    readiness.close();
    channel.close();
  }
}
