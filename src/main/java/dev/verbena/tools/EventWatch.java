package dev.verbena.tools;

import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.EventChannel;
import java.util.function.Consumer;

/** Takes events beside a program's main work. */
final class EventWatch {
  private EventWatch() {}

  /** Hands every event to a consumer, until the channel is closed. */
  static void start(EventChannel channel, Consumer<ConnectionEvent> consumer) {
    Thread.ofVirtual().name("events").start(() -> watch(channel, consumer));
  }

  private static void watch(EventChannel channel, Consumer<ConnectionEvent> consumer) {
    try {
      while (true) {
        consumer.accept(channel.take());
      }
    } catch (InterruptedException e) {
      throw new AssertionError("nobody has this thread to interrupt it", e);
    } catch (IllegalStateException e) {
      if (channel.isOpen()) {
        throw e;
      }
    }
  }
}
