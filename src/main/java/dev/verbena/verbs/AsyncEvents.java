package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Codes;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.life.EventReader;
import dev.verbena.raw.ibv_async_event;
import dev.verbena.values.AsyncEventType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous events of an open device, in the order in which they occurred. Each event is
 * returned once. Get the events with {@link Context#asyncEvents}.
 *
 * <p>A wait ends with an event, with the timeout, when the thread is interrupted, and when another
 * thread closes the context. A virtual thread that waits does not pin its carrier. Each event is
 * acknowledged automatically ({@code ibv_ack_async_event}), so destroying the object it concerns
 * does not wait for it. After {@link AsyncEventType#DEVICE_FATAL} of a {@linkplain Context#isLost()
 * lost device} reading fails with EIO: there are no further events. Several threads may wait. See
 * {@code ibv_get_async_event(3)}.
 *
 * <p>As long as a program does not read the events of a context, those that report a fatal error
 * are logged as warnings (logger {@code dev.verbena}). The first call that reads an event or
 * listens ends that, and gets the events that occurred before, too, the last 256 of them. Contexts
 * that C code opened are not logged, except those of librdmacm. The system property {@code
 * dev.verbena.logAsyncEvents} with the value {@code false} switches the logging off.
 */
public final class AsyncEvents {
  private final Context context;
  private final EventReader<AsyncEvent> events;
  private final UnhandledEvents unhandled;

  AsyncEvents(Context context, int descriptor) {
    this.context = context;
    this.events = new EventReader<>(context.core, descriptor, this::read);
    this.unhandled = new UnhandledEvents(context, events);
  }

  /**
   * Waits for an event: {@code ibv_get_async_event}.
   *
   * @return the next event
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the context is closed, also during the wait
   */
  public AsyncEvent take() throws InterruptedException {
    AsyncEvent kept = unhandled.next();
    return kept == null ? events.take() : kept;
  }

  /**
   * Waits for an event with a timeout: {@code ibv_get_async_event}.
   *
   * @param timeout the maximum time to wait
   * @return the next event, or null if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the context is closed, also during the wait
   */
  public @Nullable AsyncEvent poll(Duration timeout) throws InterruptedException {
    AsyncEvent kept = unhandled.next();
    return kept == null ? events.poll(timeout) : kept;
  }

  /**
   * Returns the next event without waiting: {@code ibv_get_async_event}.
   *
   * @return the next event, or null if there is none
   * @throws IllegalStateException if the context is closed
   */
  public @Nullable AsyncEvent poll() {
    AsyncEvent kept = unhandled.next();
    return kept == null ? events.poll() : kept;
  }

  /**
   * Passes each event to a listener, in a thread of its own, until the result or the context is
   * closed, or the device is lost. Exceptions of the listener are passed to the uncaught exception
   * handler of the thread, and the listening continues.
   *
   * @param listener the listener, called for one event after the other
   * @return the listening, to be closed
   */
  public Listening listen(Consumer<? super AsyncEvent> listener) {
    return new Listening(this, Objects.requireNonNull(listener, "listener"));
  }

  /**
   * Logs fatal events until a program reads an event or listens, as for each context that {@link
   * Device#open} returns. Do not call it on a borrowed context whose events C code reads.
   */
  public void logUnhandled() {
    unhandled.log();
  }

  private AsyncEvent read() {
    return context.loss().reading(this::readEvent);
  }

  private AsyncEvent readEvent() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment event = ibv_async_event.allocate(arena);
      context.verbs().ibv_get_async_event(context.address(), event.address());
      try {
        AsyncEvent translated =
            translated(event); // Before it is acknowledged: until then the object exists.
        if (translated.type() == AsyncEventType.DEVICE_FATAL) {
          context.loss().report();
        }
        FlightEvents.asynchronous(context.device(), translated.type(), subject(translated));
        return translated;
      } finally {
        context.verbs().ibv_ack_async_event(event.address());
      }
    }
  }

  private AsyncEvent translated(MemorySegment event) {
    AsyncEventType type =
        Codes.of(AsyncEventType.class, ibv_async_event.event_type(event), AsyncEventType.UNKNOWN);
    if (type == AsyncEventType.UNKNOWN) {
      return new AsyncEvent.Unknown(ibv_async_event.event_type(event), context.device());
    }
    MemorySegment element = ibv_async_event.element(event);
    MemorySegment object = ibv_async_event.element.qp(element);
    AsyncEvent known =
        switch (type.concerns()) {
          case PORT -> new AsyncEvent.OfPort(type, ibv_async_event.element.port_num(element));
          case DEVICE -> new AsyncEvent.OfDevice(type, context.device());
          case QUEUE_PAIR ->
              about(QueuePair.class, object, qp -> new AsyncEvent.OfQueuePair(type, qp));
          case COMPLETION_QUEUE ->
              about(
                  CompletionQueue.class, object, cq -> new AsyncEvent.OfCompletionQueue(type, cq));
          case SHARED_RECEIVE_QUEUE ->
              about(
                  SharedReceiveQueue.class,
                  object,
                  srq -> new AsyncEvent.OfSharedReceiveQueue(type, srq));
          case WORK_QUEUE ->
              about(WorkQueue.class, object, wq -> new AsyncEvent.OfWorkQueue(type, wq));
        };
    return known == null ? new AsyncEvent.OfForeignObject(type, object) : known;
  }

  private static Object subject(AsyncEvent event) {
    return switch (event) {
      case AsyncEvent.OfQueuePair e -> e.queuePair();
      case AsyncEvent.OfCompletionQueue e -> e.completionQueue();
      case AsyncEvent.OfSharedReceiveQueue e -> e.queue();
      case AsyncEvent.OfWorkQueue e -> e.queue();
      case AsyncEvent.OfPort e -> "port " + e.port();
      case AsyncEvent.OfDevice e -> e.device();
      case AsyncEvent.Unknown e -> e.device();
      case AsyncEvent.OfForeignObject e -> e.object();
    };
  }

  private <R extends Resource> @Nullable AsyncEvent about(
      Class<R> type, MemorySegment object, Function<R, AsyncEvent> event) {
    R resource = context.core.find(type, object.address());
    return resource == null ? null : event.apply(resource);
  }

  void beforeClose() {
    events.stop();
  }

  /**
   * A thread that passes events to a listener. Closing it ends the thread after the current event.
   */
  public static final class Listening implements AutoCloseable {
    /** How long closing waits for the listener. */
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final Context context;
    private final Thread thread;
    private volatile boolean closed;

    private Listening(AsyncEvents events, Consumer<? super AsyncEvent> listener) {
      this.context = events.context;
      this.thread =
          Thread.ofPlatform()
              .daemon()
              .name("events of " + context.device())
              .unstarted(() -> run(events, listener));
      thread.start();
    }

    private void run(AsyncEvents events, Consumer<? super AsyncEvent> listener) {
      while (!closed && context.isOpen()) {
        AsyncEvent event;
        try {
          event = events.take();
        } catch (InterruptedException e) {
          continue; // By close, or by a listener that interrupted itself.
        } catch (IllegalStateException e) {
          if (context.isOpen()) {
            throw e;
          }
          return;
        } catch (VerbsException e) {
          if (!context.isLost()) {
            throw e;
          }
          return; // The listener got DEVICE_FATAL, and no event follows it.
        }
        try {
          listener.accept(event);
        } catch (Throwable t) {
          boolean _ =
              ServiceLoop.attempt(
                  () -> thread.getUncaughtExceptionHandler().uncaughtException(thread, t));
        }
      }
    }

    /**
     * Ends the listening, and waits for its end unless the listener itself calls this method.
     *
     * @throws IllegalStateException if the listener does not return within 30 seconds; it receives
     *     no further event
     */
    @Override
    public void close() {
      close(LIMIT);
    }

    /** Closes; waits for the listener at most so long. */
    void close(Duration limit) {
      closed = true;
      thread.interrupt();
      if (!thread.equals(Thread.currentThread()) && !joined(limit)) {
        throw new IllegalStateException(
            "the thread " + thread.getName() + " does not end: its listener does not return");
      }
    }

    /** Waits for the thread; an interrupt does not end the wait. */
    private boolean joined(Duration limit) {
      long start = System.nanoTime();
      boolean interrupted = false;
      try {
        while (true) {
          try {
            return thread.join(limit.minusNanos(System.nanoTime() - start));
          } catch (InterruptedException e) {
            interrupted = true;
          }
        }
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }
}
