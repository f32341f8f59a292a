package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.life.EventReader;
import dev.verbena.values.AsyncEventType;
import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Logs the fatal asynchronous events of a context until the program reads events of the context,
 * and keeps all events until then. No thread waits for them: one is started when there are some.
 *
 * <p>{@code -Ddev.verbena.logAsyncEvents=false} switches it off: then only the program reads.
 */
final class UnhandledEvents {
  private static final System.Logger LOG = System.getLogger("dev.verbena");
  private static final boolean ON =
      !"false".equals(System.getProperty("dev.verbena.logAsyncEvents"));

  /** The number of events that are kept at most, the latest ones. */
  static final int KEPT = 256;

  /** The events after which an object generates no more completions, or loses some. */
  private static final Set<AsyncEventType> FATAL =
      EnumSet.of(
          AsyncEventType.CQ_ERR,
          AsyncEventType.QP_FATAL,
          AsyncEventType.QP_REQ_ERR,
          AsyncEventType.QP_ACCESS_ERR,
          AsyncEventType.SRQ_ERR,
          AsyncEventType.WQ_FATAL,
          AsyncEventType.DEVICE_FATAL);

  private final Context context;
  private final EventReader<AsyncEvent> events;
  private final ReentrantLock lock = new ReentrantLock();
  private final Deque<AsyncEvent> kept = new ArrayDeque<>();

  /** Whether the program reads the events. */
  private boolean handled;

  UnhandledEvents(Context context, EventReader<AsyncEvent> events) {
    this.context = context;
    this.events = events;
  }

  /** Begins to log; does nothing if the program reads the events already. */
  void log() {
    if (!ON) {
      return;
    }
    lock.lock();
    try {
      if (!handled) {
        awaitEvents();
      }
    } catch (VerbsException e) { // For example EMFILE: the context is usable all the same.
      LOG.log(
          System.Logger.Level.WARNING, "asynchronous events of " + context + " are not logged", e);
    } finally {
      lock.unlock();
    }
  }

  private void awaitEvents() {
    // Weak, so that a context that was not closed is still reported as a leak.
    WeakReference<UnhandledEvents> reference = new WeakReference<>(this);
    events.whenReadable(
        () -> {
          UnhandledEvents unhandled = reference.get();
          if (unhandled != null) {
            unhandled.read();
          }
        });
  }

  private void read() {
    List<AsyncEvent> read = new ArrayList<>();
    lock.lock();
    try {
      if (handled) {
        return;
      }
      for (AsyncEvent event = events.poll(); event != null; event = events.poll()) {
        read.add(event);
        keep(event);
      }
      awaitEvents();
    } catch (IllegalStateException e) {
      if (context.isOpen()) {
        throw e;
      }
    } catch (VerbsException e) { // EIO: the device was removed, and has no more events.
      LOG.log(System.Logger.Level.DEBUG, "asynchronous events of " + context + " end", e);
    } finally {
      lock.unlock();
    }
    read.forEach(this::log); // Without the lock: a handler of the logger may read events.
  }

  private void keep(AsyncEvent event) {
    if (kept.size() == KEPT) {
      kept.removeFirst();
    }
    kept.addLast(event);
  }

  private void log(AsyncEvent event) {
    AsyncEventType type = event.type();
    LOG.log(
        FATAL.contains(type) ? System.Logger.Level.WARNING : System.Logger.Level.DEBUG,
        "asynchronous event IBV_EVENT_"
            + type
            + " ("
            + type.text()
            + ") of "
            + object(event)
            + "; the program does not read these events: "
            + context
            + ".asyncEvents()");
  }

  private Object object(AsyncEvent event) {
    return switch (event) {
      case AsyncEvent.OfQueuePair(var _, var queuePair) -> queuePair;
      case AsyncEvent.OfCompletionQueue(var _, var queue) -> queue;
      case AsyncEvent.OfSharedReceiveQueue(var _, var queue) -> queue;
      case AsyncEvent.OfWorkQueue(var _, var queue) -> queue;
      case AsyncEvent.OfPort(var _, var port) -> "port " + port + " of " + context.device();
      case AsyncEvent.OfDevice(var _, var device) -> device;
      case AsyncEvent.Unknown(int _, var device) -> device;
      case AsyncEvent.OfForeignObject(var _, var object) -> "the C object at " + object.address();
    };
  }

  /**
   * Ends the logging for good, as the program reads the events from now on.
   *
   * @return the first event that was kept and whose object is not closed; null if there is none
   */
  AsyncEvent next() {
    context.core.requireOpen();
    lock.lock();
    try {
      handled = true;
      AsyncEvent next = kept.poll();
      while (next != null && isGone(object(next))) {
        next = kept.poll(); // The kernel, too, removes the events of what is destroyed.
      }
      return next;
    } finally {
      lock.unlock();
    }
  }

  private static boolean isGone(Object object) {
    return object instanceof Resource resource && !resource.isOpen();
  }
}
