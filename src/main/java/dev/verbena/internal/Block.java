package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/**
 * Zeroed memory for C to read or write, which lives as long as this object is reachable.
 *
 * <p>Offsets are not checked here: the owner checks what it is given, once for each operation.
 * Going around the segment leaves one move of each access, where the segment would add checks of
 * its class, its scope, its bounds and the alignment.
 */
public final class Block {
  private static final long CACHE_LINE = 64;

  private final MemorySegment segment;
  private final long address;

  /**
   * Allocates memory, at the start of a cache line.
   *
   * @param size the number of bytes
   */
  public Block(long size) {
    segment = Arena.ofAuto().allocate(size, CACHE_LINE);
    address = segment.address();
  }

  /** A part of the memory, with all of a segment's checks. It keeps the memory alive. */
  public MemorySegment slice(long offset, long size) {
    return segment.asSlice(offset, size);
  }

  /** The address of a byte. Whoever hands it to C ends with {@link #keep}. */
  public long address(long offset) {
    return address + offset;
  }

  /** Keeps the memory alive up to here. */
  @SuppressWarnings("ReachabilityFenceUsage") // What lies before does not throw.
  public void keep() {
    Reference.reachabilityFence(this);
  }

  /** Reads a 64-bit number. */
  public long getLong(long offset) {
    long value = Memory.getLong(address + offset);
    keep();
    return value;
  }

  /** Reads a 32-bit number. */
  public int getInt(long offset) {
    int value = Memory.getInt(address + offset);
    keep();
    return value;
  }

  /** Reads a 16-bit number. */
  public short getShort(long offset) {
    short value = Memory.getShort(address + offset);
    keep();
    return value;
  }

  /** Reads an 8-bit number. */
  public byte getByte(long offset) {
    byte value = Memory.getByte(address + offset);
    keep();
    return value;
  }

  /** Writes a 64-bit number. */
  public void putLong(long offset, long value) {
    Memory.putLong(address + offset, value);
    keep();
  }

  /** Writes a 32-bit number. */
  public void putInt(long offset, int value) {
    Memory.putInt(address + offset, value);
    keep();
  }

  /** Writes a 16-bit number. */
  public void putShort(long offset, short value) {
    Memory.putShort(address + offset, value);
    keep();
  }
}
