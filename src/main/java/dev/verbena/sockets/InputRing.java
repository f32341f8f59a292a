package dev.verbena.sockets;

import java.nio.ByteBuffer;

/**
 * The receive buffer of a stream: a ring of two halves, each of which the peer may fill again when
 * it is granted again. Guarded by the lock of the stream, but for {@link #copyTo}.
 */
final class InputRing {
  private final ByteBuffer ring;
  private final int size;

  // The numbers of bytes overflow without harm.
  private int received;
  private int consumed;
  private int granted;
  private int freed;
  private int freeOffset;
  private int readOffset;

  /** The number of bytes that a thread copies from the ring. */
  private int reading;

  /**
   * All is granted when connecting, as one SGE, which may have any length. librdmacm grants one
   * half, and the other one with the first call of the program.
   */
  InputRing(ByteBuffer ring, int size) {
    this.ring = ring;
    this.size = size;
    granted = size;
  }

  int half() {
    return size / 2;
  }

  /** Returns the number of bytes that have arrived and were not read. */
  int available() {
    return received - consumed;
  }

  /** Returns whether bytes have arrived that no thread has read, or reads now. */
  boolean hasUnread() {
    return received != consumed + reading;
  }

  /** Returns the number of bytes that the peer may still send. */
  int allowed() {
    return granted - received;
  }

  void receive(int length) {
    received += length;
  }

  /** A thread begins to copy bytes, which are not discarded meanwhile. */
  void beginReading(int count) {
    reading = count;
  }

  /** Copies bytes to a buffer, by the thread that reads. */
  void copyTo(ByteBuffer buffer, int count) {
    int first = Math.min(count, size - readOffset);
    int position = buffer.position();
    buffer.put(position, ring, readOffset, first);
    buffer.put(position + first, ring, 0, count - first);
    buffer.position(position + count);
  }

  /** Ends the reading of bytes, of which some are consumed. */
  void endReading(int count) {
    reading = 0;
    consume(count);
  }

  private void consume(int count) {
    consumed += count;
    freed += count;
    readOffset = (readOffset + count) % size;
  }

  /** Consumes what nobody reads; a read in progress does it when it has copied its part. */
  void discard() {
    if (reading == 0) {
      consume(received - consumed);
    }
  }

  /** Returns whether a half can be granted again. */
  boolean isHalfFree() {
    return freed >= half();
  }

  /** Grants the half that is free; returns its offset. */
  int grantHalf() {
    int offset = freeOffset;
    granted += half();
    freed -= half();
    freeOffset = half() - freeOffset;
    return offset;
  }
}
