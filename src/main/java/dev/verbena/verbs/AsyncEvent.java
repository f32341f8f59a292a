package dev.verbena.verbs;

import dev.verbena.values.AsyncEventType;
import java.lang.foreign.MemorySegment;

/**
 * An asynchronous event of a device, such as a port state change or a fatal queue pair error, and
 * the object it concerns: {@code struct ibv_async_event}.
 *
 * {@snippet :
 * switch (AsyncEvents.of(context).take()) {
 *   case AsyncEvent.OfQueuePair(var type, var queuePair) -> queuePair.reset();
 *   case AsyncEvent event -> System.out.println(event.type().text());
 * }
 * }
 *
 * <p>See {@code ibv_get_async_event(3)}.
 */
public sealed interface AsyncEvent {
  /** {@return the event type} */
  AsyncEventType type();

  /**
   * An event of a queue pair.
   *
   * @param type the event type
   * @param queuePair the queue pair
   */
  record OfQueuePair(AsyncEventType type, QueuePair queuePair) implements AsyncEvent {}

  /**
   * An event of a completion queue.
   *
   * @param type the event type
   * @param completionQueue the completion queue
   */
  record OfCompletionQueue(AsyncEventType type, CompletionQueue completionQueue)
      implements AsyncEvent {}

  /**
   * An event of a shared receive queue.
   *
   * @param type the event type
   * @param queue the shared receive queue
   */
  record OfSharedReceiveQueue(AsyncEventType type, SharedReceiveQueue queue)
      implements AsyncEvent {}

  /**
   * An event of a work queue.
   *
   * @param type the event type
   * @param queue the work queue
   */
  record OfWorkQueue(AsyncEventType type, WorkQueue queue) implements AsyncEvent {}

  /**
   * An event of a port.
   *
   * @param type the event type
   * @param port the port, counted from 1
   */
  record OfPort(AsyncEventType type, int port) implements AsyncEvent {}

  /**
   * An event of the whole device.
   *
   * @param type the event type
   * @param device the device
   */
  record OfDevice(AsyncEventType type, Device device) implements AsyncEvent {}

  /**
   * An event of an object that C code created and that was not borrowed.
   *
   * @param type the event type
   * @param object the C object
   */
  record OfForeignObject(AsyncEventType type, MemorySegment object) implements AsyncEvent {}

  /**
   * An event whose type this library does not know.
   *
   * @param code the value of {@code enum ibv_event_type}
   * @param device the device
   */
  record Unknown(int code, Device device) implements AsyncEvent {
    @Override
    public AsyncEventType type() {
      return AsyncEventType.UNKNOWN;
    }
  }
}
