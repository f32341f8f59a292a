package dev.verbena.internal.foreign;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/**
 * Zeroed native memory that C functions read or write, valid as long as this object is reachable.
 *
 * <p>The owner accesses it by address, through {@link Memory}, and validates its arguments once per
 * operation. Each access is a single machine instruction; access through the segment would check
 * class, scope, bounds and alignment.
 */
public final class Block {
  private static final long CACHE_LINE = 64;

  /**
   * The maximum of addresses of a process. With this bound, C2 omits the check against the size of
   * all memory; in a loop, hoisting this check takes more instructions than a batch of 16.
   */
  private static final long LARGEST_ADDRESS = (1L << 56) - 1;

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
    assert address == known(address);
  }

  /**
   * Returns a part of the memory as a segment, with all its checks, which keeps the memory alive.
   */
  public MemorySegment slice(long offset, long size) {
    return segment.asSlice(offset, size);
  }

  /** Returns the address of a byte. The caller must call {@link #keep} after its last use. */
  public long address(long offset) {
    return address + offset;
  }

  /** Returns the same address, with a bound that C2 knows: see {@link #LARGEST_ADDRESS}. */
  public static long known(long address) {
    return address & LARGEST_ADDRESS;
  }

  /** Keeps the memory alive up to this call. */
  @SuppressWarnings("ReachabilityFenceUsage") // The code before does not throw.
  public void keep() {
    Reference.reachabilityFence(this);
  }
}
