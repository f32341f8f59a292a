package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Codes;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.life.EventReader;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.raw.ibv_async_event;
import dev.verbena.values.AsyncEventType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous events of an open device. Logs the fatal ones until the program reads the events
 * of the context, and keeps all events until then. No thread waits for them: one is started when
 * there are some.
 *
 * <p>{@code -Ddev.verbena.logAsyncEvents=false} switches it off: then only the program reads.
 */
final class DeviceEvents {
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
  private final EventReader<Event> events;
  private final ScopedLock lock = new ScopedLock();
  private final Deque<Event> kept = new ArrayDeque<>();

  /** Whether the program reads the events. */
  private boolean handled;

  /**
   * An event, whose object is looked up before the event is acknowledged: until then the C object
   * exists.
   *
   * @param code the value of {@code enum ibv_event_type}
   * @param element the address of the C object, or the number of the port
   * @param resource the object; null if C code created it, or if the event concerns another thing
   */
  record Event(AsyncEventType type, int code, long element, @Nullable Resource resource) {}

  DeviceEvents(Context context, int descriptor) {
    this.context = context;
    this.events =
        new EventReader<>(context.core, descriptor, () -> context.loss().reading(this::readEvent));
  }

  private Event readEvent() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment event = ibv_async_event.allocate(arena);
      context.verbs().ibv_get_async_event(context.address(), event.address());
      try {
        Event read = event(event);
        if (read.type() == AsyncEventType.DEVICE_FATAL) {
          context.loss().report();
        } else if (read.resource() != null) {
          read.resource().happened(read.type());
        }
        FlightEvents.asynchronous(context.device(), read.type(), subject(read));
        return read;
      } finally {
        context.verbs().ibv_ack_async_event(event.address());
      }
    }
  }

  private Event event(MemorySegment event) {
    int code = ibv_async_event.event_type(event);
    AsyncEventType type = Codes.of(AsyncEventType.class, code, AsyncEventType.UNKNOWN);
    MemorySegment element = ibv_async_event.element(event);
    if (type == AsyncEventType.UNKNOWN || type.concerns() == AsyncEventType.Concerns.DEVICE) {
      return new Event(type, code, 0, null);
    }
    if (type.concerns() == AsyncEventType.Concerns.PORT) {
      return new Event(type, code, ibv_async_event.element.port_num(element), null);
    }
    long object = ibv_async_event.element.qp(element).address();
    return new Event(type, code, object, context.core.find(Resource.class, object));
  }

  private Object subject(Event event) {
    if (event.resource() != null) {
      return event.resource();
    }
    return switch (event.type().concerns()) {
      case DEVICE -> context.device();
      case PORT -> "port " + event.element() + " of " + context.device();
      default -> "the C object at " + event.element();
    };
  }

  /** Waits for an event. */
  Event take() throws InterruptedException {
    Event kept = next();
    return kept == null ? events.take() : kept;
  }

  /** Waits for an event with a timeout; returns null if it elapsed. */
  @Nullable Event poll(Duration timeout) throws InterruptedException {
    Event kept = next();
    return kept == null ? events.poll(timeout) : kept;
  }

  /** Returns the next event without waiting, or null. */
  @Nullable Event poll() {
    Event kept = next();
    return kept == null ? events.poll() : kept;
  }

  void stop() {
    events.stop();
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
    WeakReference<DeviceEvents> reference = new WeakReference<>(this);
    events.whenReadable(
        () -> {
          DeviceEvents unhandled = reference.get();
          if (unhandled != null) {
            unhandled.read();
          }
        });
  }

  private void read() {
    List<Event> read = new ArrayList<>();
    lock.lock();
    try {
      if (handled) {
        return;
      }
      for (Event event = events.poll(); event != null; event = events.poll()) {
        read.add(event);
        keep(event);
      }
      awaitEvents();
    } catch (IllegalStateException | VerbsException e) {
      // The context is being closed, and logs again if that fails; or EIO: the device was removed.
      LOG.log(System.Logger.Level.DEBUG, "asynchronous events of " + context + " end", e);
    } finally {
      lock.unlock();
    }
    read.forEach(this::log); // Without the lock: a handler of the logger may read events.
  }

  private void keep(Event event) {
    if (kept.size() == KEPT) {
      kept.removeFirst();
    }
    kept.addLast(event);
  }

  private void log(Event event) {
    AsyncEventType type = event.type();
    LOG.log(
        FATAL.contains(type) ? System.Logger.Level.WARNING : System.Logger.Level.DEBUG,
        "asynchronous event IBV_EVENT_%s (%s) of %s; the program does not read these events: AsyncEvents.of(%s)"
            .formatted(type, type.text(), subject(event), context));
  }

  /**
   * Ends the logging for good, as the program reads the events from now on.
   *
   * @return the first event that was kept and whose object is not closed; null if there is none
   */
  private @Nullable Event next() {
    context.core.requireOpen();
    try (var _ = lock.hold()) {
      handled = true;
      Event next = kept.poll();
      while (next != null && isGone(next)) {
        next = kept.poll(); // The kernel, too, removes the events of what is destroyed.
      }
      return next;
    }
  }

  private static boolean isGone(Event event) {
    return event.resource() != null && !event.resource().isOpen();
  }
}
