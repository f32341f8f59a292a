package dev.verbena.internal.mlx5;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.raw.ibv_recv_wr;
import java.lang.invoke.VarHandle;

/** The receive queue of a queue pair: a ring of entries of data segments. */
final class Mlx5ReceiveQueue implements ReceiveEntries {
  static final long ID = ibv_recv_wr.wr_id$offset();
  static final long NEXT = ibv_recv_wr.next$offset();
  private static final long SGES = ibv_recv_wr.sg_list$offset();
  static final long SGE_COUNT = ibv_recv_wr.num_sge$offset();

  private final QueueLock lock = new QueueLock();
  private final long buffer;
  private final int shift;
  private final int mask;
  private final int maxSges;
  private final long record;

  /** The {@code wr_id} of the request of each entry. */
  private final long[] ids;

  /** The number of requests that were posted. */
  private int posted;

  /** The number of requests that were completed; the thread that polls writes it. */
  private int completed;

  /**
   * A new receive queue.
   *
   * @param entries the number of entries, a power of two
   * @param stride the size of an entry in bytes, a power of two
   * @param record the address of its doorbell record
   */
  Mlx5ReceiveQueue(long buffer, int entries, int stride, long record) {
    this.buffer = buffer;
    this.shift = Integer.numberOfTrailingZeros(stride);
    this.mask = entries - 1;
    this.maxSges = stride / WqeSegments.SIZE;
    this.record = record;
    this.ids = new long[entries];
  }

  /**
   * Posts a list of requests.
   *
   * @return an errno; the address of the request that failed is stored in {@code badWr}
   */
  int post(long first, long badWr) {
    StackSpace.requireForSection();
    lock.lock();
    try {
      int errno = 0;
      int now = posted;
      long request = first;
      do {
        if (now - completed >= ids.length) {
          errno = Errno.ENOMEM;
          break;
        }
        if (Memory.getInt(request + SGE_COUNT) > maxSges) {
          errno = Errno.EINVAL;
          break;
        }
        write(request, Block.known(buffer + ((long) (now & mask) << shift)), maxSges);
        ids[now & mask] = Memory.getLong(request + ID);
        now++;
        request = Memory.getLong(request + NEXT);
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

  /**
   * Writes the data segments of a request. An SGE of length 0 has none: the device would take it
   * for 2 GB.
   */
  static void write(long request, long entry, int maxSges) {
    long sge = Block.known(Memory.getLong(request + SGES));
    int segments = 0;
    for (int i = Memory.getInt(request + SGE_COUNT); i > 0; i--, sge += WqeSegments.SIZE) {
      if (WqeSegments.length(sge) != 0) {
        WqeSegments.data(entry + (long) segments++ * WqeSegments.SIZE, sge);
      }
    }
    if (segments < maxSges) {
      WqeSegments.end(entry + (long) segments * WqeSegments.SIZE);
    }
  }

  @Override
  public long complete(int counter) {
    final long id = ids[counter & mask];
    VarHandle.releaseFence(); // A thread that posts overwrites what is completed.
    completed++;
    return id;
  }

  /** Makes the queue empty, as a transition to RESET does. */
  void reset() {
    lock.lockOnce();
    try {
      posted = 0;
      completed = 0;
      Doorbell.record(record, 0); // After libmlx5: a post may have come between.
    } finally {
      lock.unlockOnce();
    }
  }
}
