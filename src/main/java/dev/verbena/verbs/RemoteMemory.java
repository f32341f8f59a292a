package dev.verbena.verbs;

import dev.verbena.internal.Ranges;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The description of a memory region of the peer: address, length and remote key. The peer creates
 * it with {@link #of} and sends {@link #toBytes()} in a message or in private data.
 *
 * {@snippet :
 * RemoteMemory remote = RemoteMemory.fromBytes(message);
 * list.write(0).local(region, 0, 64).remote(remote.addressOf(0, 64), remote.rkey());
 * }
 */
public final class RemoteMemory {
  /** The size of the description in bytes. */
  public static final int SIZE = 24;

  /** The format of the bytes; another format has another number. */
  private static final byte VERSION = 1;

  private final long address;
  private final long length;
  private final int rkey;

  private RemoteMemory(long address, long length, int rkey) {
    if (length < 0) {
      throw new IllegalArgumentException("length of remote memory must not be negative: " + length);
    }
    this.address = address;
    this.length = length;
    this.rkey = rkey;
  }

  /**
   * {@return the description of memory that was announced in another format than {@link #toBytes}}
   *
   * @param address the start address
   * @param length the length in bytes
   * @param rkey the remote key of the peer's region
   * @throws IllegalArgumentException if the length is negative
   */
  public static RemoteMemory at(long address, long length, int rkey) {
    return new RemoteMemory(address, length, rkey);
  }

  /**
   * Returns the start address.
   *
   * @return the address, in the peer's memory
   */
  public long address() {
    return address;
  }

  /**
   * Returns the length.
   *
   * @return the length in bytes
   */
  public long length() {
    return length;
  }

  /**
   * Returns the remote key.
   *
   * @return the remote key of the peer's region
   */
  public int rkey() {
    return rkey;
  }

  /**
   * {@return the description of a region of this process, for the peer}
   *
   * @param region a region registered for remote access
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
   * @throws IllegalArgumentException if there are too few bytes, or they are of another version of
   *     the format
   */
  public static RemoteMemory fromBytes(byte[] bytes) {
    if (bytes.length < SIZE) {
      throw new IllegalArgumentException(
          "the description of remote memory has " + SIZE + " bytes, not " + bytes.length);
    }
    if (bytes[0] != VERSION) {
      throw new IllegalArgumentException(
          "the description of remote memory has version "
              + Byte.toUnsignedInt(bytes[0])
              + " of the format, and this release knows version "
              + VERSION
              + ": use the same release of the library at both ends");
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes).position(Integer.BYTES);
    int key = buffer.getInt();
    return new RemoteMemory(buffer.getLong(), buffer.getLong(), key);
  }

  /**
   * Returns the description as bytes, for the peer.
   *
   * @return {@value #SIZE} bytes: the version of the format (1), three zeros, the remote key of 4
   *     bytes, address and length of 8 bytes each, in network byte order
   */
  public byte[] toBytes() {
    return ByteBuffer.allocate(SIZE)
        .put(VERSION)
        .position(Integer.BYTES)
        .putInt(rkey)
        .putLong(address)
        .putLong(length)
        .array();
  }

  /**
   * Returns the address of a range, for a work request.
   *
   * @param offset the offset of the range in the memory, in bytes
   * @param size the size of the range in bytes
   * @return the address of its first byte, in the peer's memory
   * @throws IndexOutOfBoundsException if the range is not within the memory
   */
  public long addressOf(long offset, long size) {
    return address + Ranges.within(this, offset, size, length);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof RemoteMemory that
        && that.address == address
        && that.length == length
        && that.rkey == rkey;
  }

  @Override
  public int hashCode() {
    return Objects.hash(address, length, rkey);
  }

  @Override
  public String toString() {
    return "remote memory of %s bytes at 0x%s, rkey 0x%s"
        .formatted(length, Long.toHexString(address), Integer.toHexString(rkey));
  }
}
