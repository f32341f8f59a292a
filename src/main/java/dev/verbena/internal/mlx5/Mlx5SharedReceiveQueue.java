package dev.verbena.internal.mlx5;

import dev.verbena.Errno;
import dev.verbena.internal.calls.SharedReceiveQueueCalls;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;

/**
 * A shared receive queue: a list of entries, each of which contains the index of the next one
 * before its data segments. Completions free them in any order, at the end of the list.
 */
final class Mlx5SharedReceiveQueue implements SharedReceiveQueueCalls, ReceiveEntries {
  private final SpinLock lock = new SpinLock();
  private final long buffer;
  private final int shift;
  private final int maxSges;
  private final long record;

  /** The {@code wr_id} of the request of each entry. */
  private final long[] ids;

  /** The entry of the next request. */
  private int head;

  /** The last free entry, which is not used: a device reads the index of the next one in it. */
  private int tail;

  /** The number of requests that were posted. */
  private int posted;

  /**
   * A new shared receive queue.
   *
   * @param maxSges the maximum number of SGEs of a request
   */
  Mlx5SharedReceiveQueue(QueueMemory.OfSharedReceiveQueue memory, int maxSges) {
    this.buffer = memory.entries();
    this.shift = Integer.numberOfTrailingZeros(memory.stride());
    this.maxSges = maxSges;
    this.record = memory.record();
    this.head = memory.head();
    this.tail = memory.tail();
    this.ids = new long[tail + 1];
  }

  private long at(int index) {
    return Block.known(buffer + ((long) index << shift));
  }

  /** Returns the index that follows an entry: 16 bits, big-endian, at offset 2. */
  private int next(int index) {
    return Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(at(index) + 2)));
  }

  @Override
  public int ibv_post_srq_recv(long first, long badWr) {
    StackSpace.requireForSection();
    lock.lock();
    try {
      int errno = 0;
      int now = posted;
      long request = first;
      do {
        if (Memory.getInt(request + Mlx5ReceiveQueue.SGE_COUNT) > maxSges) {
          errno = Errno.EINVAL;
          break;
        }
        if (head == tail) {
          errno = Errno.ENOMEM;
          break;
        }
        ids[head] = Memory.getLong(request + Mlx5ReceiveQueue.ID);
        Mlx5ReceiveQueue.write(request, at(head) + WqeSegments.SIZE, maxSges);
        head = next(head);
        now++;
        request = Memory.getLong(request + Mlx5ReceiveQueue.NEXT);
      } while (request != 0);
      if (errno != 0) {
        Memory.putLong(badWr, request);
      }
      if (now != posted) {
        posted = now;
        Doorbell.record(record, now & 0xffff);
      }
      return errno;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long complete(int counter) {
    lock.lock();
    try {
      free(counter);
      return ids[counter];
    } finally {
      lock.unlock();
    }
  }

  private void free(int index) {
    Memory.putShort(at(tail) + 2, Short.reverseBytes((short) index));
    tail = index;
  }

  /**
   * Posts the request of an entry again, in another one, after the device met a page in its memory
   * that is not there; the kernel fetches it. As in libmlx5, this is no completion.
   */
  void postAgain(int counter) {
    lock.lock();
    try {
      free(counter);
      ids[head] = ids[counter];
      Memory.copy(
          at(counter) + WqeSegments.SIZE,
          at(head) + WqeSegments.SIZE,
          (long) maxSges * WqeSegments.SIZE);
      head = next(head);
      posted++;
      Doorbell.record(record, posted & 0xffff);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean isDirect() {
    return true;
  }
}
