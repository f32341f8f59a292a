package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import dev.verbena.internal.Segments;
import dev.verbena.raw.ibv_comp_channel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * Where completion queues announce completions: {@code struct ibv_comp_channel}. Any number of
 * queues may announce on one channel.
 *
 * <p>A queue announces one completion after each {@linkplain CompletionQueue#requestNotification()
 * request}, and none of those that it held already. So the order is: request, then poll until the
 * queue is empty, then wait.
 *
 * <p>
 *
 * {@snippet :
 * queue.requestNotification();
 * drain(queue);
 * while (running) {
 *   CompletionQueue announced = channel.take();
 *   announced.requestNotification();
 *   drain(announced);
 * }
 * }
 *
 * <p>Waiting ends when a queue announces, when the time is over, when the thread is interrupted,
 * and when another thread closes the channel. A virtual thread that waits does not hold its
 * carrier. Events are acknowledged without further ado: {@code ibv_ack_cq_events}.
 *
 * <p>Closing it calls {@code ibv_destroy_comp_channel}.
 */
public final class CompletionChannel extends Resource {
  private static final long CQ = 0;
  private static final long CQ_CONTEXT = Long.BYTES;

  private final Context context;
  private final EventFile<CompletionQueue> events;
  private final MemorySegment event = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, 2);
  private volatile CompletionEvents[] queues = {};

  private CompletionChannel(Context context, long address, Runnable release) {
    super(address, release);
    int descriptor = ibv_comp_channel.fd(Memory.at(address, ibv_comp_channel.sizeof()));
    this.context = context;
    this.events = new EventFile<>(this, descriptor, this::read);
  }

  static CompletionChannel create(Context context) {
    return make(
        List.of(context),
        () -> {
          long address = context.verbs().ibv_create_comp_channel(context.address());
          return new CompletionChannel(
              context, address, () -> context.verbs().ibv_destroy_comp_channel(address));
        });
  }

  /**
   * A channel that C code made and will destroy, such as one of librdmacm. It hands out the
   * announcements of queues that are {@linkplain CompletionQueue#borrow borrowed} with it. C code
   * must not wait on it meanwhile. Taking an announcement makes the channel's file descriptor
   * non-blocking, and so it stays: whoever waits for one in C then gets EAGAIN instead.
   *
   * @param context the context it belongs to
   * @param segment the {@code struct ibv_comp_channel}
   * @return a channel whose closing leaves the C object alone
   */
  public static CompletionChannel borrow(Context context, MemorySegment segment) {
    long address = Segments.object(segment, "ibv_comp_channel");
    return make(List.of(context), () -> new CompletionChannel(context, address, () -> {}));
  }

  /**
   * Waits until a queue announces a completion: {@code ibv_get_cq_event}.
   *
   * @return the queue, which announces nothing more until it is asked to
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the channel is closed, be it during the wait
   */
  public CompletionQueue take() throws InterruptedException {
    return events.take();
  }

  /**
   * Waits a while until a queue announces a completion: {@code ibv_get_cq_event}.
   *
   * @param timeout how long at most
   * @return the queue, or null if none announced anything in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the channel is closed, be it during the wait
   */
  public CompletionQueue poll(Duration timeout) throws InterruptedException {
    return events.poll(timeout);
  }

  /**
   * Takes an announcement that is already there: {@code ibv_get_cq_event}.
   *
   * @return the queue, or null if none has announced anything
   * @throws IllegalStateException if the channel is closed
   */
  public CompletionQueue poll() {
    return events.poll();
  }

  /** The queue of the next event; null if it is being closed, so that nobody wants to know. */
  private CompletionQueue read() {
    context.verbs().ibv_get_cq_event(address(), event.address() + CQ, event.address() + CQ_CONTEXT);
    long cq = event.get(ValueLayout.JAVA_LONG, CQ);
    CompletionEvents[] all = queues;
    // The newest first: a queue that was just destroyed may have left its address to another.
    for (int i = all.length - 1; i >= 0; i--) {
      if (all[i].isOf(cq)) {
        all[i].count();
        CompletionQueue queue = all[i].queue();
        return queue.isOpen() ? queue : null;
      }
    }
    context.verbs().ibv_ack_cq_events(cq, 1);
    throw new IllegalStateException(
        "an event on " + this + " for a completion queue that nobody borrowed");
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
   * The context that the channel was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  @Override
  protected void beforeClose() {
    events.stop();
  }

  @Override
  public String toString() {
    return "completion channel of " + context.device();
  }
}
