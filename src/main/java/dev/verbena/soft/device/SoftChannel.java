package dev.verbena.soft.device;

import dev.verbena.internal.io.EventFile;
import dev.verbena.raw.ibv_comp_channel;
import org.jspecify.annotations.Nullable;

/** A completion event channel. */
public final class SoftChannel extends SoftObject {
  private final EventFile file;

  /** The queues that have events, in order, linked by {@code nextWithEvents}. */
  private @Nullable SoftCompletionQueue first;

  private @Nullable SoftCompletionQueue last;

  public SoftChannel(SoftContext context, EventFile file) {
    super(
        context,
        context.struct(ibv_comp_channel.layout()).putInt("fd", file.descriptor()),
        context);
    this.file = file;
  }

  /** Counts in the struct, too, as libibverbs does. */
  @Override
  public void use(int change) {
    super.use(change);
    struct.putInt("refcnt", struct.getInt("refcnt") + change);
  }

  /** Adds a completion event of a queue. Allocates nothing: the Java heap may be full. */
  public void add(SoftCompletionQueue queue) {
    if (isReleased) {
      return; // The descriptor is closed, although the queues of the lost device still exist.
    }
    synchronized (this) {
      if (queue.events++ == 0) {
        append(queue);
      }
    }
    file.add();
  }

  private void append(SoftCompletionQueue queue) {
    queue.nextWithEvents = null;
    if (first == null) {
      first = queue;
    } else {
      last.nextWithEvents = queue;
    }
    last = queue;
  }

  /** Takes an event of the first queue, which goes to the end if it has more. */
  private SoftCompletionQueue poll() {
    SoftCompletionQueue queue = first;
    if (queue != null) {
      first = queue.nextWithEvents;
      if (--queue.events > 0) {
        append(queue);
      }
    }
    return queue;
  }

  /**
   * Takes the oldest event, to be acknowledged; null with an errno in {@code errno[0]}. A queue
   * that is destroyed meanwhile either discards the event, or waits for the acknowledgement.
   */
  public @Nullable SoftCompletionQueue take(int[] errno) {
    while (true) {
      errno[0] = file.take();
      if (errno[0] != 0) {
        return null;
      }
      synchronized (this) {
        SoftCompletionQueue queue = poll();
        if (queue != null) {
          queue.eventTaken();
          return queue;
        }
      }
    }
  }

  /** Discards the events of a queue that is destroyed. */
  synchronized void forget(SoftCompletionQueue queue) {
    SoftCompletionQueue all = first;
    first = null;
    while (all != null) {
      SoftCompletionQueue following = all.nextWithEvents;
      if (all != queue) {
        append(all);
      }
      all = following;
    }
    queue.events = 0;
  }

  public void close() {
    file.close();
  }

  @Override
  public String kind() {
    return "completion channel";
  }
}
