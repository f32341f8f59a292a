package dev.verbena.programs;

import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.nio.ByteBuffer;

/** rping's message: the address, key and length of a buffer, in network order. */
final class RpingBuffer {
  /** Address, key and length. */
  static final int SIZE = Long.BYTES + 2 * Integer.BYTES;

  private RpingBuffer() {}

  static byte[] bytes(MemoryRegion region) {
    return ByteBuffer.allocate(SIZE)
        .putLong(region.start())
        .putInt(region.rkey())
        .putInt((int) region.length())
        .array();
  }

  static RemoteMemory of(byte[] message) throws IOException {
    if (message.length != SIZE) {
      throw new IOException("Received bogus data, size " + message.length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(message);
    long address = buffer.getLong();
    int rkey = buffer.getInt();
    return RemoteMemory.at(address, Integer.toUnsignedLong(buffer.getInt()), rkey);
  }
}
