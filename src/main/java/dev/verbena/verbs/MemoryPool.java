package dev.verbena.verbs;

import dev.verbena.internal.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Hands out parts of one registered region, since a registration is too slow for each request. The
 * sizes of its slices are powers of two.
 *
 * {@snippet :
 * MemoryRegion region = pd.allocateMemory(64 << 20, AccessFlag.LOCAL_WRITE);
 * MemoryPool pool = new MemoryPool(region, 256, 1 << 20);
 * MemorySlice slice = pool.take(1500); // 2048 bytes
 * slice.memory().copyFrom(message);
 * sends.send(0).id(7).local(slice.region(), slice.offset(), message.byteSize()).signaled();
 * // when the request has completed
 * slice.release();
 * }
 *
 * <p>The region is divided into chunks of the largest size. A chunk has slices of one size, and can
 * be given another one when all of them are free. Once each chunk has had the sizes that a program
 * uses, {@code take} and {@code release} allocate nothing.
 *
 * <p>Any thread may use a pool, under one lock; threads that share no requests need not share a
 * pool. Closing the region ends the pool.
 */
public final class MemoryPool {
  private final MemoryRegion region;
  private final MemorySegment memory;
  private final int smallest;
  private final int largest;

  /** The chunks of each size class that have a free slice, and last those that have no class. */
  private final ChunkList[] lists;

  /**
   * Creates a pool.
   *
   * @param region the region; the part of it behind the last whole chunk is not used
   * @param smallest the size of the smallest slices in bytes, a power of two
   * @param largest the size of the largest slices and of a chunk in bytes, a power of two
   * @throws IllegalArgumentException if a size is not a power of two, or the region is smaller than
   *     the largest slice
   * @throws IllegalStateException if the region is closed
   */
  public MemoryPool(MemoryRegion region, int smallest, int largest) {
    if (Integer.bitCount(smallest) != 1 || Integer.bitCount(largest) != 1 || smallest < 1) {
      throw new IllegalArgumentException(
          "sizes of slices must be powers of two: " + smallest + " and " + largest);
    }
    if (largest < smallest || region.memory().byteSize() < largest) {
      throw new IllegalArgumentException(
          "slices of "
              + smallest
              + " to "
              + largest
              + " bytes in "
              + region.memory().byteSize()
              + " bytes of "
              + region);
    }
    this.region = region;
    this.memory = region.memory();
    this.smallest = smallest;
    this.largest = largest;
    this.lists = new ChunkList[classes() + 1];
    for (int i = 0; i < lists.length; i++) {
      lists[i] = new ChunkList();
    }
    for (long end = region.memory().byteSize() / largest * largest; end > 0; end -= largest) {
      lists[classes()].add(new Chunk(end - largest, classes()));
    }
  }

  private int classes() {
    return sizeClass(largest) + 1;
  }

  private int sizeClass(int size) {
    int most = Integer.SIZE - Integer.numberOfLeadingZeros(size - 1);
    return Math.max(0, most - Integer.numberOfTrailingZeros(smallest));
  }

  /**
   * Takes a slice.
   *
   * @param size the number of bytes needed
   * @return a slice of at least this size, or null if none is free
   * @throws IllegalArgumentException if the size is not positive, or larger than the largest slice
   * @throws IllegalStateException if the region is closed, or was registered again with other
   *     memory
   */
  @CheckReturnValue
  public @Nullable MemorySlice take(int size) {
    if (size < 1 || size > largest) {
      throw new IllegalArgumentException("a slice has 1 to " + largest + " bytes: " + size);
    }
    if (!region.memory().equals(memory)) {
      throw new IllegalStateException(
          region + " was registered again with other memory, of which the pool has no slices");
    }
    int wanted = sizeClass(size);
    synchronized (lists) {
      ChunkList list = lists[wanted];
      if (list.first == null && !give(wanted)) {
        return null;
      }
      Chunk chunk = list.first;
      MemorySlice slice = chunk.slices[wanted][--chunk.free];
      slice.taken = true;
      if (chunk.free == 0) {
        list.remove(chunk);
      }
      return slice;
    }
  }

  /** Gives a chunk to a class: one that has no class, or whose slices are all free. */
  private boolean give(int wanted) {
    for (int i = classes(); i >= 0; i--) {
      for (Chunk chunk = lists[i].first; chunk != null; chunk = chunk.next) {
        if (i == classes() || chunk.free == chunk.slices[i].length) {
          lists[i].remove(chunk);
          chunk.sizeClass = wanted;
          if (chunk.slices[wanted] == null) {
            chunk.slices[wanted] = divide(chunk, smallest << wanted);
          }
          chunk.free = chunk.slices[wanted].length;
          lists[wanted].add(chunk);
          return true;
        }
      }
    }
    return false;
  }

  private MemorySlice[] divide(Chunk chunk, int size) {
    MemorySlice[] slices = new MemorySlice[largest / size];
    for (int i = 0; i < slices.length; i++) {
      slices[i] = new MemorySlice(this, chunk, chunk.start + (long) i * size, size);
    }
    return slices;
  }

  void release(MemorySlice slice, Chunk chunk) {
    synchronized (lists) {
      if (!slice.taken) {
        throw new IllegalStateException(slice + " was released before");
      }
      slice.taken = false;
      chunk.slices[chunk.sizeClass][chunk.free++] = slice;
      if (chunk.free == 1) {
        lists[chunk.sizeClass].add(chunk);
      }
    }
  }

  /**
   * Returns the region whose parts the pool hands out.
   *
   * @return the region
   */
  public MemoryRegion region() {
    return region;
  }

  @Override
  public String toString() {
    return "pool of " + smallest + " to " + largest + " bytes in " + region;
  }

  /** A part of the region whose slices have one size. */
  static final class Chunk {
    private final long start;

    /** The slices of each class, the free ones first; null for a class that it never had. */
    private final MemorySlice[][] slices;

    private int sizeClass;
    private int free;
    private @Nullable Chunk previous;
    private @Nullable Chunk next;

    private Chunk(long start, int classes) {
      this.start = start;
      this.slices = new MemorySlice[classes][];
    }
  }

  /** A linked list, whose members are removed without a search. */
  private static final class ChunkList {
    private @Nullable Chunk first;

    void add(Chunk chunk) {
      chunk.previous = null;
      chunk.next = first;
      if (first != null) {
        first.previous = chunk;
      }
      first = chunk;
    }

    void remove(Chunk chunk) {
      if (chunk.previous == null) {
        first = chunk.next;
      } else {
        chunk.previous.next = chunk.next;
      }
      if (chunk.next != null) {
        chunk.next.previous = chunk.previous;
      }
    }
  }
}
