package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/**
 * Zeroed memory for C to read or write, which lives as long as this object is reachable.
 *
 * <p>The owner reads and writes it by address, through {@link Memory}, and checks what it is given
 * once for each operation. That leaves one move of each access, where the segment would add checks
 * of its class, its scope, its bounds and the alignment.
 */
public final class Block {
  private static final long CACHE_LINE = 64;

  /**
   * No address that a process can have is larger. C2 does not know that: told so, it leaves out the
   * check against the size of all memory. In a loop that check is not only needless but dear: C2
   * spends more instructions on hoisting it than a batch of 16 has.
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

  /** A part of the memory, with all of a segment's checks. It keeps the memory alive. */
  public MemorySegment slice(long offset, long size) {
    return segment.asSlice(offset, size);
  }

  /** The address of a byte. Whoever uses it ends with {@link #keep}. */
  public long address(long offset) {
    return address + offset;
  }

  /** The same address, with the knowledge that it is one: see {@link #LARGEST_ADDRESS}. */
  public static long known(long address) {
    return address & LARGEST_ADDRESS;
  }

  /** Keeps the memory alive up to here. */
  @SuppressWarnings("ReachabilityFenceUsage") // What lies before does not throw.
  public void keep() {
    Reference.reachabilityFence(this);
  }
}
