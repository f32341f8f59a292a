package dev.verbena.cm;

import dev.verbena.verbs.MemoryRegion;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Memory of the peer, as the peer names it in a message or in private data.
 *
 * @param address where it starts
 * @param length how long it is
 * @param rkey the key of the peer's region
 */
public record RemoteMemory(long address, long length, int rkey) {
  /** How many bytes the description has: two numbers of eight bytes and one of four, big-endian. */
  public static final int SIZE = 2 * Long.BYTES + Integer.BYTES;

  /** Checks that the length is not negative. */
  public RemoteMemory {
    if (length < 0) {
      throw new IllegalArgumentException("remote memory of " + length + " bytes");
    }
  }

  /**
   * The description of an own region, for the peer.
   *
   * @param region a region that peers may read or write
   * @return what the peer must know
   */
  public static RemoteMemory of(MemoryRegion region) {
    return new RemoteMemory(region.start(), region.length(), region.rkey());
  }

  /**
   * Reads a description.
   *
   * @param bytes what {@link #toBytes} made, perhaps with something behind it
   * @return the description
   */
  public static RemoteMemory fromBytes(byte[] bytes) {
    if (bytes.length < SIZE) {
      throw new IllegalArgumentException(
          "remote memory is described in " + SIZE + " bytes, not " + bytes.length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new RemoteMemory(buffer.getLong(), buffer.getLong(), buffer.getInt());
  }

  /**
   * The description for the peer.
   *
   * @return {@link #SIZE} bytes
   */
  public byte[] toBytes() {
    return ByteBuffer.allocate(SIZE).putLong(address).putLong(length).putInt(rkey).array();
  }

  /** The address of a number that atomics change. */
  long addressOfNumber(long offset) {
    long number = addressOf(offset, Long.BYTES);
    if (number % Long.BYTES != 0) {
      throw new IllegalArgumentException(
          "an atomic needs an address that is a multiple of 8: offset "
              + offset
              + " of "
              + this
              + " is at 0x"
              + Long.toHexString(number));
    }
    return number;
  }

  /** The address of a range, which must not leave the memory. */
  long addressOf(long offset, long size) {
    return address + Objects.checkFromIndexSize(offset, size, length);
  }
}
