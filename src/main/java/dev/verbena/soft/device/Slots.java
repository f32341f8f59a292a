package dev.verbena.soft.device;

/**
 * The slots of a send or receive queue. As with NICs, a slot is free again when the program has
 * polled the completion of its request, or, in a send queue, that of a later request.
 */
public interface Slots {
  /**
   * A completion was polled, or discarded with its queue pair.
   *
   * @param position that of its request in the send queue
   */
  void free(long position);
}
