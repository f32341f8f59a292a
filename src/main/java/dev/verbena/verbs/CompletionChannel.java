package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Inside;
import dev.verbena.internal.SharedWait;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.internal.io.Readiness;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.EventReader;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.raw.ibv_comp_channel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A completion event channel: delivers the completion events of one or more completion queues
 * ({@code struct ibv_comp_channel}).
 *
 * <p>A queue generates one completion event after each {@linkplain
 * CompletionQueue#requestNotification() request}, and none for completions that it already
 * contains. So request a notification first, then poll until the queue is empty, then wait:
 *
 * {@snippet :
 * queue.requestNotification();
 * drain(queue);
 * while (running) {
 *   CompletionQueue ready = channel.take();
 *   ready.requestNotification();
 *   drain(ready);
 * }
 * }
 *
 * <p>A wait ends with a completion event, with the timeout, when the thread is interrupted, and
 * when another thread closes the channel. A virtual thread that waits does not pin its carrier.
 * Events are acknowledged automatically ({@code ibv_ack_cq_events}).
 *
 * <p>A channel may be used by several threads. Closing it calls {@code ibv_destroy_comp_channel}.
 * See {@code ibv_create_comp_channel(3)} and {@code ibv_get_cq_event(3)}.
 */
public final class CompletionChannel extends Resource {
  private static final long CQ = 0;
  private static final long CQ_CONTEXT = Long.BYTES;

  private final Context context;
  private final int descriptor;
  private final EventReader<CompletionQueue> events;
  private final MemorySegment event = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, 2);
  private volatile CompletionEvents[] queues = {};

  private final ScopedLock waiting = new ScopedLock();
  private final SharedWait wait = new SharedWait(waiting);

  private CompletionChannel(Context context, Core core) {
    super(core);
    this.descriptor = ibv_comp_channel.fd(Memory.at(core.address(), ibv_comp_channel.sizeof()));
    this.context = context;
    this.events = new EventReader<>(core, descriptor, this::read);
    core.beforeClose(this::beforeClose);
  }

  static CompletionChannel create(Context context) {
    return Core.make(
        List.of(context),
        () -> context.verbs().ibv_create_comp_channel(context.address()),
        channel -> destroy(context, channel),
        core -> new CompletionChannel(context, core));
  }

  private static void destroy(Context context, long channel) {
    try {
      context.verbs().ibv_destroy_comp_channel(channel);
    } catch (VerbsException e) {
      if (e.errno() != Errno.EBUSY || !context.loss().isKnown()) {
        throw e;
      }
      // Queues that the kernel destroyed, and libibverbs could not. The descriptor would stay open.
      ibv_comp_channel.refcnt(Memory.at(channel, ibv_comp_channel.sizeof()), 0);
      context.verbs().ibv_destroy_comp_channel(channel);
    }
  }

  /**
   * {@return a channel that C code creates and destroys, for example librdmacm; closing it does not
   * destroy the C object} It delivers the events of queues that are {@linkplain
   * CompletionQueue#borrow borrowed} with it. C code must not wait on it. Reading an event sets the
   * file descriptor of the channel to non-blocking mode permanently: C code that then waits for an
   * event gets EAGAIN.
   *
   * @param context the context of the channel
   * @param segment the {@code struct ibv_comp_channel}
   * @throws IllegalArgumentException if the segment is shorter than the struct: with native access,
   *     {@link MemorySegment#reinterpret(long)} makes a pointer long enough
   */
  public static CompletionChannel borrow(Context context, MemorySegment segment) {
    long address = Segments.struct(segment, "ibv_comp_channel", ibv_comp_channel.sizeof());
    return Core.borrow(List.of(context), address, core -> new CompletionChannel(context, core));
  }

  /**
   * Waits for a completion event: {@code ibv_get_cq_event}.
   *
   * @return the queue of the event; it generates no further event until the next request
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the channel is closed, also during the wait
   */
  public CompletionQueue take() throws InterruptedException {
    return events.take();
  }

  /**
   * Waits for a completion event with a timeout: {@code ibv_get_cq_event}.
   *
   * @param timeout the maximum time to wait
   * @return the queue of the event, or null if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the channel is closed, also during the wait
   */
  public @Nullable CompletionQueue poll(Duration timeout) throws InterruptedException {
    return events.poll(timeout);
  }

  /**
   * Returns the next completion event without waiting: {@code ibv_get_cq_event}.
   *
   * @return the queue of the event, or null if there is none
   * @throws IllegalStateException if the channel is closed
   */
  public @Nullable CompletionQueue poll() {
    return events.poll();
  }

  /**
   * Waits once for a completion event of a queue, at most for a time. One of the threads that wait
   * for queues of this channel reads the events of all.
   *
   * @param queue the queue that the event is expected for; the wait also ends when it is closed
   * @param seen the number of events of the queue that were read before it was armed; does not wait
   *     if there are more
   * @throws IllegalStateException if the channel or the queue is closed
   */
  void await(CompletionQueue queue, long seen, long nanos) throws InterruptedException {
    Object begun = FlightEvents.beginWait();
    waiting.lockInterruptibly();
    try {
      queue.core.requireNotClosing(); // Or endWaits() may have been before this wait.
      if (queue.events() == seen && wait.begin(nanos)) {
        waiting.unlock();
        try {
          events.awaitReadable(queue.core, nanos);
          readAll();
        } finally {
          waiting.lock();
          wait.end();
        }
      }
    } finally {
      waiting.unlock();
      FlightEvents.endWait(begun, this, queue.events() != seen);
    }
  }

  private void readAll() {
    CompletionQueue ready;
    do {
      ready = events.poll();
    } while (ready != null);
  }

  /** Makes all threads that wait check again what they wait for. */
  void endWaits() {
    events.stop();
    try (var _ = waiting.hold()) {
      wait.signal(); // Those that wait for the thread that reads.
    }
  }

  /** Returns the queue of the next event; null if the queue is being closed. */
  private @Nullable CompletionQueue read() {
    return context.loss().reading(this::readEvent);
  }

  private @Nullable CompletionQueue readEvent() {
    context.verbs().ibv_get_cq_event(address(), event.address() + CQ, event.address() + CQ_CONTEXT);
    long cq = event.get(ValueLayout.JAVA_LONG, CQ);
    CompletionEvents[] all = queues;
    // The newest first: its address may be that of a queue that was destroyed.
    for (int i = all.length - 1; i >= 0; i--) {
      if (all[i].isOf(cq)) {
        all[i].count();
        CompletionQueue queue = all[i].queue();
        return queue.isOpen() ? queue : null;
      }
    }
    context.verbs().ibv_ack_cq_events(cq, 1);
    throw new IllegalStateException(
        "an event on "
            + this
            + " for a completion queue that CompletionQueue.borrow was not called for");
  }

  synchronized void add(CompletionEvents queue) {
    CompletionEvents[] more = Arrays.copyOf(queues, queues.length + 1);
    more[queues.length] = queue;
    queues = more;
  }

  synchronized void remove(CompletionEvents queue) {
    queues = Arrays.stream(queues).filter(other -> other != queue).toArray(CompletionEvents[]::new);
  }

  /**
   * Returns the file descriptor of the channel, for an event loop: readable when an event is
   * pending.
   *
   * @return the descriptor; only the channel may close it
   * @throws IllegalStateException if the channel is closed
   * @throws UnsupportedOperationException for a software device, if this is not Linux
   */
  public int descriptor() {
    return Readiness.requireSystem(descriptor(Inside.LIBRARY));
  }

  /**
   * Returns the descriptor, or the number that stands for it in this library.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public int descriptor(Inside caller) {
    core.requireOpen();
    return descriptor;
  }

  /** {@return the context of the channel} */
  public Context context() {
    return context;
  }

  private void beforeClose() {
    events.stop();
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "completion channel " + descriptor + " of " + context.device());
  }
}
