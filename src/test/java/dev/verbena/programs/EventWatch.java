package dev.verbena.programs;

import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.EventChannel;
import java.util.function.Consumer;

/** Reads events in a thread of its own. */
final class EventWatch {
  private EventWatch() {}

  /** Passes each event to a consumer, until the channel is closed. */
  static void start(EventChannel channel, Consumer<ConnectionEvent> consumer) {
    Thread.ofVirtual().name("events").start(() -> watch(channel, consumer));
  }

  private static void watch(EventChannel channel, Consumer<ConnectionEvent> consumer) {
    try {
      while (true) {
        consumer.accept(channel.take());
      }
    } catch (InterruptedException e) {
      throw new AssertionError("the thread is not accessible to callers", e);
    } catch (IllegalStateException e) {
      if (channel.isOpen()) {
        throw e;
      }
    }
  }
}
