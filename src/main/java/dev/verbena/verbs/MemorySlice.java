package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;

/**
 * A part of a region that a {@link MemoryPool} has handed out: the buffer of one request.
 *
 * {@snippet :
 * sends.send(0).local(slice.region(), slice.offset(), length).signaled();
 * }
 *
 * <p>The slice belongs to the program until it is {@linkplain #release released}, which any thread
 * may do, once.
 */
public final class MemorySlice {
  private final MemoryPool pool;
  private final MemoryPool.Chunk chunk;
  private final long offset;
  private final MemorySegment memory;
  boolean taken;

  MemorySlice(MemoryPool pool, MemoryPool.Chunk chunk, long offset, long size) {
    this.pool = pool;
    this.chunk = chunk;
    this.offset = offset;
    this.memory = pool.region().memory().asSlice(offset, size);
  }

  /**
   * Returns the region that the slice is a part of.
   *
   * @return the region of the pool
   */
  public MemoryRegion region() {
    return pool.region();
  }

  /**
   * Returns the offset of the slice in the region.
   *
   * @return the offset in bytes
   */
  public long offset() {
    return offset;
  }

  /**
   * Returns the size of the slice, at least the one that was asked for.
   *
   * @return the size in bytes, a power of two
   */
  public long size() {
    return memory.byteSize();
  }

  /**
   * Returns the memory of the slice, with what its last user left in it.
   *
   * @return the memory
   */
  public MemorySegment memory() {
    return memory;
  }

  /**
   * Returns the slice to its pool. No request that uses it may be outstanding.
   *
   * @throws IllegalStateException if it was released before
   */
  public void release() {
    pool.release(this, chunk);
  }

  @Override
  public String toString() {
    return size() + " bytes at offset " + offset + " of " + region();
  }
}
