package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import dev.verbena.values.AsyncEventType;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous events of an open device, in the order in which they occurred. Each event is
 * returned once. Get the events with {@link #of}.
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
  private final DeviceEvents events;

  private AsyncEvents(Context context) {
    this.context = context;
    this.events = context.events();
  }

  /**
   * {@return the asynchronous events of a device, such as port state changes and fatal queue pair
   * errors}
   *
   * @param context the context of the device
   */
  public static AsyncEvents of(Context context) {
    return new AsyncEvents(context);
  }

  /**
   * Waits for an event: {@code ibv_get_async_event}.
   *
   * @return the next event
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the context is closed, also during the wait
   */
  public AsyncEvent take() throws InterruptedException {
    return translated(events.take());
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
    DeviceEvents.Event event = events.poll(timeout);
    return event == null ? null : translated(event);
  }

  /**
   * Returns the next event without waiting: {@code ibv_get_async_event}.
   *
   * @return the next event, or null if there is none
   * @throws IllegalStateException if the context is closed
   */
  public @Nullable AsyncEvent poll() {
    DeviceEvents.Event event = events.poll();
    return event == null ? null : translated(event);
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
    events.log();
    context.core.afterFailedClose(events::log);
  }

  private AsyncEvent translated(DeviceEvents.Event event) {
    AsyncEventType type = event.type();
    if (type == AsyncEventType.UNKNOWN) {
      return new AsyncEvent.Unknown(event.code(), context.device());
    }
    return switch (event.resource()) {
      case QueuePair queuePair -> new AsyncEvent.OfQueuePair(type, queuePair);
      case CompletionQueue queue -> new AsyncEvent.OfCompletionQueue(type, queue);
      case SharedReceiveQueue queue -> new AsyncEvent.OfSharedReceiveQueue(type, queue);
      case WorkQueue queue -> new AsyncEvent.OfWorkQueue(type, queue);
      case null, default ->
          switch (type.concerns()) {
            case PORT -> new AsyncEvent.OfPort(type, (int) event.element());
            case DEVICE -> new AsyncEvent.OfDevice(type, context.device());
            default ->
                new AsyncEvent.OfForeignObject(type, MemorySegment.ofAddress(event.element()));
          };
    };
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

    @Override
    public String toString() {
      return "listener for events of " + context.device() + (closed ? " (closed)" : "");
    }

    private Listening(AsyncEvents events, Consumer<? super AsyncEvent> listener) {
      this.context = events.context;
      this.thread =
          Time.daemon()
              .name("events of " + context.device())
              .unstarted(() -> run(events, listener));
      thread.start();
    }

    private void run(AsyncEvents events, Consumer<? super AsyncEvent> listener) {
      while (!closed) {
        AsyncEvent event;
        try {
          if (!context.core.remainsOpen()) {
            return;
          }
          event = events.take();
        } catch (InterruptedException e) {
          continue; // By close, or by a listener that interrupted itself.
        } catch (IllegalStateException e) {
          continue; // The context is being closed, which may fail.
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
      if (!thread.equals(Thread.currentThread()) && !Uninterrupted.join(thread, limit)) {
        throw new IllegalStateException(
            "the thread " + thread.getName() + " does not end: its listener does not return");
      }
    }
  }

  @Override
  public String toString() {
    return "asynchronous events of " + context;
  }
}
