package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;

/**
 * Something that happened beside the data path, and what it happened to: {@code struct
 * ibv_async_event}.
 */
public sealed interface AsyncEvent {
  /**
   * What happened.
   *
   * @return the kind of event
   */
  AsyncEventType type();

  /**
   * An event of a queue pair.
   *
   * @param type what happened
   * @param queuePair to which queue pair
   */
  record OfQueuePair(AsyncEventType type, QueuePair queuePair) implements AsyncEvent {}

  /**
   * An event of a completion queue.
   *
   * @param type what happened
   * @param completionQueue to which completion queue
   */
  record OfCompletionQueue(AsyncEventType type, CompletionQueue completionQueue)
      implements AsyncEvent {}

  /**
   * An event of a shared receive queue.
   *
   * @param type what happened
   * @param queue to which shared receive queue
   */
  record OfSharedReceiveQueue(AsyncEventType type, SharedReceiveQueue queue)
      implements AsyncEvent {}

  /**
   * An event of a work queue.
   *
   * @param type what happened
   * @param queue to which work queue
   */
  record OfWorkQueue(AsyncEventType type, WorkQueue queue) implements AsyncEvent {}

  /**
   * An event of a port.
   *
   * @param type what happened
   * @param port to which port, counted from 1
   */
  record OfPort(AsyncEventType type, int port) implements AsyncEvent {}

  /**
   * An event of the whole device.
   *
   * @param type what happened
   * @param device to which device
   */
  record OfDevice(AsyncEventType type, Device device) implements AsyncEvent {}

  /**
   * An event of an object that C code made and nobody borrowed.
   *
   * @param type what happened
   * @param object to which C object
   */
  record OfForeignObject(AsyncEventType type, MemorySegment object) implements AsyncEvent {}
}
