package dev.verbena.soft.device;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_recv_wr;

/** A ring of receive requests: of a queue pair, a shared receive queue or a work queue. */
public final class SoftReceiveQueue implements Slots {
  private static final long WR_ID = ibv_recv_wr.wr_id$offset();
  private static final long NEXT = ibv_recv_wr.next$offset();
  private static final long SG_LIST = ibv_recv_wr.sg_list$offset();
  private static final long NUM_SGE = ibv_recv_wr.num_sge$offset();

  private ReceiveRequest[] ring;
  private final int maxElements;
  private long posted;
  private long taken;

  /** How many requests were taken whose completions were not polled. */
  private int incomplete;

  public SoftReceiveQueue(int capacity, int maxElements) {
    ring = new ReceiveRequest[capacity];
    this.maxElements = maxElements;
  }

  public synchronized int capacity() {
    return ring.length;
  }

  public int maxElements() {
    return maxElements;
  }

  public synchronized int size() {
    return (int) (posted - taken);
  }

  public synchronized boolean isEmpty() {
    return posted == taken;
  }

  /** Posts a list of {@code struct ibv_recv_wr}; the result is an errno. */
  public synchronized int post(long first, long badWr) {
    long wr = first;
    int errno = 0;
    try {
      while (wr != 0 && (errno = post(wr)) == 0) {
        wr = Memory.getLong(wr + NEXT);
      }
    } finally {
      if (wr != 0) {
        Memory.putLong(badWr, wr);
      }
    }
    return errno;
  }

  private int post(long wr) {
    int elements = Memory.getInt(wr + NUM_SGE);
    if (posted - taken + incomplete >= ring.length) {
      return Errno.ENOMEM;
    }
    if (elements < 0 || elements > maxElements) {
      return Errno.EINVAL;
    }
    int slot = (int) (posted % ring.length);
    if (ring[slot] == null) {
      ring[slot] = new ReceiveRequest(maxElements);
    }
    ring[slot].wrId = Memory.getLong(wr + WR_ID);
    ring[slot].elements.read(Memory.getLong(wr + SG_LIST), elements);
    posted++;
    return 0;
  }

  /** Removes the oldest request and copies it; returns false if there is none. */
  public synchronized boolean take(ReceiveRequest into) {
    if (posted == taken) {
      return false;
    }
    ReceiveRequest request = ring[(int) (taken++ % ring.length)];
    into.wrId = request.wrId;
    into.elements.copyOf(request.elements);
    into.slots = this;
    incomplete++;
    return true;
  }

  /** Changes the capacity; false if more requests wait than that. */
  public synchronized boolean resize(int capacity) {
    if (capacity < posted - taken + incomplete) {
      return false;
    }
    ReceiveRequest[] other = new ReceiveRequest[capacity];
    for (long i = taken; i < posted; i++) {
      other[(int) (i - taken)] = ring[(int) (i % ring.length)];
    }
    posted -= taken;
    taken = 0;
    ring = other;
    return true;
  }

  public synchronized void clear() {
    taken = posted;
    incomplete = 0;
  }

  @Override
  public synchronized void free(long position) {
    if (incomplete > 0) {
      incomplete--;
    }
  }
}
