package dev.verbena.messages;

import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The format of requests and answers: a header, followed by the bytes of the program or, in a large
 * request, by the description of the memory that has them.
 */
final class RequestFrame {
  /** Slot, sequence number and kind, 32 bits each, and 32 bits that are 0. */
  static final int HEADER = 16;

  static final int REQUEST = 0;

  /** A request whose bytes the server reads from the client's memory. */
  static final int LARGE_REQUEST = 1;

  static final int ANSWER = 2;

  /** An answer with the message of an exception. */
  static final int FAILURE = 3;

  private static final int MARK = 0x56627201; // "Vbr", and the version of this format.

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private RequestFrame() {}

  /** Returns the bytes from one message to the next in memory for messages of a maximum size. */
  static long stride(int messageSize) {
    return (HEADER + Math.max(RemoteMemory.SIZE, messageSize) + 7L) & -8L;
  }

  /** Returns receive requests for consecutive messages, whose ids are their numbers. */
  static ReceiveList receives(MemoryRegion region, int count, long stride) {
    ReceiveList receives = new ReceiveList(count, 1);
    for (int i = 0; i < count; i++) {
      receives.id(i, i);
      receives.local(i, region, i * stride, stride);
    }
    return receives;
  }

  /**
   * Returns a write of zero bytes, which needs no memory of the peer: its device acknowledges it.
   */
  static SendList emptyWrite(long id) {
    SendList nothing = new SendList(1, 1);
    nothing.write(0).id(id).remote(0, 0).signaled();
    return nothing;
  }

  static void write(MemorySegment memory, long at, int slot, int sequence, int kind) {
    memory.set(INT, at, slot);
    memory.set(INT, at + 4, sequence);
    memory.set(INT, at + 8, kind);
    memory.set(INT, at + 12, 0);
  }

  static int slot(MemorySegment memory, long at) {
    return memory.get(INT, at);
  }

  static int sequence(MemorySegment memory, long at) {
    return memory.get(INT, at + 4);
  }

  static int kind(MemorySegment memory, long at) {
    return memory.get(INT, at + 8);
  }

  /** Writes the description of memory behind the header; returns its length. */
  static int writeRemote(MemorySegment memory, long at, long address, long length, int rkey) {
    memory.set(LONG, at + HEADER, address);
    memory.set(LONG, at + HEADER + 8, length);
    memory.set(INT, at + HEADER + 16, rkey);
    return RemoteMemory.SIZE;
  }

  /** Returns the memory of a large request; a negative length is larger than any server takes. */
  static RemoteMemory remote(MemorySegment memory, long at) {
    long length = memory.get(LONG, at + HEADER + 8);
    return RemoteMemory.at(
        memory.get(LONG, at + HEADER),
        length < 0 ? Long.MAX_VALUE : length,
        memory.get(INT, at + HEADER + 16));
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
