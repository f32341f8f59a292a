package dev.verbena.messages;

import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The messages between a client and a server: a header, descriptions of memory, and bytes.
 *
 * <pre>
 * 0   the id of the request, which an answer has, too (8 bytes)
 * 8   the kind
 * 12  of a request: how long its client waits, in milliseconds; 0 for ever
 * 16  with {@link #LARGE}: where the bytes of the request are (24 bytes)
 *     with {@link #TARGET}: the memory for a large answer (24 bytes)
 *     the bytes, if they are not elsewhere
 * </pre>
 *
 * <p>Numbers are in little-endian order.
 */
final class RequestFrame {
  static final int HEADER = 16;

  /** The size of a description of memory: address, length, remote key, and four zeros. */
  static final int MEMORY = 24;

  static final int REQUEST = 1;
  static final int ANSWER = 2;

  /** An answer with the message of an exception. */
  static final int FAILURE = 3;

  /** A failure that may not happen again: the request was not executed. */
  static final int REFUSAL = 4;

  /** Nobody waits for the answer any more, says the request; it may still be executed. */
  static final int EXPIRY = 5;

  /** A bit of a request whose bytes the server reads. */
  static final int LARGE = 0x10;

  /** A bit of a request with memory for the answer. */
  static final int TARGET = 0x20;

  /** A bit of an answer whose bytes were written to the target: the message has their number. */
  static final int WRITTEN = 0x40;

  private static final int MARK = 0x56627202; // "Vbr", and the version of this format.

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private RequestFrame() {}

  /** Returns the maximum size of a frame with a message of a maximum size. */
  static int size(int messageSize) {
    return Math.addExact(messageSize, HEADER + 2 * MEMORY);
  }

  static void write(MemorySegment memory, long at, long id, int kind, int milliseconds) {
    memory.set(LONG, at, id);
    memory.set(INT, at + 8, kind);
    memory.set(INT, at + 12, milliseconds);
  }

  static long id(MemorySegment memory, long at) {
    return memory.get(LONG, at);
  }

  static int kind(MemorySegment memory, long at) {
    return memory.get(INT, at + 8);
  }

  static int milliseconds(MemorySegment memory, long at) {
    return memory.get(INT, at + 12);
  }

  /** Writes a description of memory. */
  static void writeMemory(MemorySegment memory, long at, long address, long length, int rkey) {
    memory.set(LONG, at, address);
    memory.set(LONG, at + 8, length);
    memory.set(LONG, at + 16, Integer.toUnsignedLong(rkey));
  }

  /** Returns memory that is described; a negative length is larger than any server takes. */
  static RemoteMemory memory(MemorySegment memory, long at) {
    long length = memory.get(LONG, at + 8);
    return RemoteMemory.at(
        memory.get(LONG, at),
        length < 0 ? Long.MAX_VALUE : length,
        (int) memory.get(LONG, at + 16));
  }

  static void writeLength(MemorySegment memory, long at, long length) {
    memory.set(LONG, at, length);
  }

  static long length(MemorySegment memory, long at) {
    return memory.get(LONG, at);
  }

  /**
   * Returns where the bytes of a message begin, behind the descriptions that its kind announces.
   */
  static int bytesAt(int kind) {
    return HEADER + ((kind & LARGE) == 0 ? 0 : MEMORY) + ((kind & TARGET) == 0 ? 0 : MEMORY);
  }

  /** Returns whether a message is a request with all that its kind announces. */
  static boolean isRequest(int kind, long length) {
    return (kind & ~(LARGE | TARGET)) == REQUEST && length >= bytesAt(kind);
  }

  /**
   * What the ends tell each other when they connect.
   *
   * @param limit the maximum number of requests under way
   * @param messageSize the maximum size of a request and an answer, without header
   */
  record Terms(int limit, int messageSize) {
    byte[] toBytes() {
      return ByteBuffer.allocate(12).putInt(MARK).putInt(limit).putInt(messageSize).array();
    }

    /** Returns the smaller values of both ends; null if the bytes are of another program. */
    Terms agreed(byte[] peers) {
      if (peers.length < 12 || ByteBuffer.wrap(peers).getInt() != MARK) {
        return null;
      }
      ByteBuffer terms = ByteBuffer.wrap(peers, 4, 8);
      int theirLimit = terms.getInt();
      int theirSize = terms.getInt();
      return theirLimit < 1 || theirSize < 1
          ? null
          : new Terms(Math.min(limit, theirLimit), Math.min(messageSize, theirSize));
    }
  }
}
