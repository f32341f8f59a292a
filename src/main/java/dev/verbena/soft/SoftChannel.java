package dev.verbena.soft;

import dev.verbena.internal.EventFile;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A completion event channel. */
final class SoftChannel extends SoftObject {
  final SoftContext context;
  private final EventFile file;
  private final ConcurrentLinkedQueue<SoftCompletionQueue> events = new ConcurrentLinkedQueue<>();

  SoftChannel(SoftContext context, CStruct struct, EventFile file) {
    super(context.device, struct);
    this.context = context;
    this.file = file;
  }

  /** Adds a completion event of a queue. */
  void add(SoftCompletionQueue queue) {
    events.add(queue);
    file.add();
  }

  /**
   * Takes the oldest event, to be acknowledged; null with an errno in {@code errno[0]}. A queue
   * that is destroyed meanwhile either discards the event, or waits for the acknowledgement.
   */
  SoftCompletionQueue take(int[] errno) {
    while (true) {
      errno[0] = file.take();
      if (errno[0] != 0) {
        return null;
      }
      synchronized (this) {
        SoftCompletionQueue queue = events.poll();
        if (queue != null) {
          queue.eventTaken();
          return queue;
        }
      }
    }
  }

  /** Discards the events of a queue that is destroyed. */
  synchronized void forget(SoftCompletionQueue queue) {
    events.removeIf(event -> event == queue);
  }

  void close() {
    file.close();
  }

  @Override
  String kind() {
    return "completion channel";
  }
}
