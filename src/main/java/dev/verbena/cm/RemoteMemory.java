package dev.verbena.cm;

import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * The description of a memory region of the peer: address, length and remote key. The peer creates
 * it with {@link #of} and sends {@link #toBytes()} in a message or in private data.
 *
 * @param address the start address
 * @param length the length in bytes
 * @param rkey the remote key of the peer's region
 */
public record RemoteMemory(long address, long length, int rkey) {
  /** The size of the description in bytes: two 64-bit numbers and one of 32 bits, big-endian. */
  public static final int SIZE = 2 * Long.BYTES + Integer.BYTES;

  /** Creates a description. */
  public RemoteMemory {
    if (length < 0) {
      throw new IllegalArgumentException("length of remote memory must not be negative: " + length);
    }
  }

  /**
   * Returns the description of a region of this process, for the peer.
   *
   * @param region a region registered for remote access
   * @return the description
   * @throws IllegalStateException if the region is closed
   */
  public static RemoteMemory of(MemoryRegion region) {
    MemorySegment _ = region.segment(); // Throws if it is closed.
    return new RemoteMemory(region.start(), region.length(), region.rkey());
  }

  /**
   * Parses a description.
   *
   * @param bytes the result of {@link #toBytes}; further bytes are ignored
   * @return the description
   */
  public static RemoteMemory fromBytes(byte[] bytes) {
    if (bytes.length < SIZE) {
      throw new IllegalArgumentException(
          "the description of remote memory has " + SIZE + " bytes, not " + bytes.length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new RemoteMemory(buffer.getLong(), buffer.getLong(), buffer.getInt());
  }

  /**
   * Returns the description as bytes, for the peer.
   *
   * @return {@link #SIZE} bytes
   */
  public byte[] toBytes() {
    return ByteBuffer.allocate(SIZE).putLong(address).putLong(length).putInt(rkey).array();
  }

  /** Returns the address of a 64-bit number for atomic operations. */
  long addressOfNumber(long offset) {
    long number = addressOf(offset, Long.BYTES);
    if (number % Long.BYTES != 0) {
      throw new IllegalArgumentException(
          "the address of an atomic operation must be a multiple of 8: offset "
              + offset
              + " of "
              + this
              + " is at 0x"
              + Long.toHexString(number));
    }
    return number;
  }

  /** Returns the address of a range, which must be within the memory. */
  long addressOf(long offset, long size) {
    return address + Objects.checkFromIndexSize(offset, size, length);
  }

  @Override
  public String toString() {
    return "remote memory of "
        + length
        + " bytes at 0x"
        + Long.toHexString(address)
        + ", rkey 0x"
        + Integer.toHexString(rkey);
  }
}
