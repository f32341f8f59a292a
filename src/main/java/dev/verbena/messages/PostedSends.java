package dev.verbena.messages;

import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;

/**
 * The send requests of a connection: a ring, each of whose requests is formatted as a send once and
 * then patched. They are posted together, and complete in the order in which they were posted. Each
 * has a tag, by which its user knows what has completed. Guarded by a lock of the user.
 */
final class PostedSends {
  /** Is told what has completed. */
  interface Listener {
    void sent(int tag);
  }

  /** The ids of send requests are at least this; those of receive requests are smaller. */
  static final long FIRST_ID = 1L << 32;

  private final QueuePair queuePair;
  private final SendList list;
  private final boolean[] isSend;
  private final int[] tags;
  private final int size;
  private final int interval;

  /**
   * How many requests were added, which include those that were posted, and those that completed.
   */
  private long added;

  private long posted;
  private long completed;
  private boolean hasFailed;

  /**
   * Creates a ring, of which nothing is posted.
   *
   * @param size the number of requests
   * @param interval of how many requests one is signaled; 0 for the last of those that are posted
   *     together
   */
  PostedSends(QueuePair queuePair, int size, int interval) {
    this.queuePair = queuePair;
    this.list = new SendList(size, 1);
    this.isSend = new boolean[size];
    this.tags = new int[size];
    this.size = size;
    this.interval = interval;
  }

  /** Returns how many requests can be added. */
  int room() {
    return (int) (completed + size - added);
  }

  boolean hasOutstanding() {
    return posted > completed;
  }

  /** Returns whether a post has failed, after which nothing is posted. */
  boolean hasFailed() {
    return hasFailed;
  }

  /** Adds a send of registered memory. */
  void send(int tag, MemoryRegion region, long offset, long length) {
    int index = index(added);
    if (isSend[index]) {
      list.local(index, region, offset, length);
    } else {
      list.send(index).local(region, offset, length);
      isSend[index] = true;
    }
    add(index, tag);
  }

  /** Adds a read of the peer's memory into a region. */
  void read(int tag, MemoryRegion region, RemoteMemory remote) {
    int index = index(added);
    isSend[index] = false;
    list.read(index).local(region, 0, remote.length()).remote(remote.address(), remote.rkey());
    add(index, tag);
  }

  /** Adds a write of registered memory to the peer's memory. */
  void write(int tag, MemoryRegion region, long offset, long length, long address, int rkey) {
    int index = index(added);
    isSend[index] = false;
    list.write(index).local(region, offset, length).remote(address, rkey);
    add(index, tag);
  }

  private int index(long number) {
    return (int) (number % size);
  }

  private void add(int index, int tag) {
    if (room() == 0) {
      throw new IllegalStateException(queuePair + " is full of requests that have not completed");
    }
    tags[index] = tag;
    list.id(index, FIRST_ID + index);
    added++;
    if (interval > 0 && added % interval == 0) {
      list.signaled(index);
    } else {
      list.unsignaled(index);
    }
  }

  /** Posts what was added, with at most two calls; nothing after a post has failed. */
  void post() {
    if (hasFailed) {
      return;
    }
    hasFailed = true;
    postAll();
    hasFailed = false;
  }

  private void postAll() {
    if (interval == 0 && posted < added) {
      list.signaled(index(added - 1));
    }
    while (posted < added) {
      int first = index(posted);
      int count = (int) Math.min(added - posted, size - first);
      int accepted = queuePair.post(list, first, count);
      posted += accepted;
      if (accepted < count) {
        throw new IllegalStateException(queuePair + " takes fewer requests than it has room for");
      }
    }
  }

  /** A request has completed, and those before it. */
  void completed(long id, Listener listener) {
    int last = (int) (id - FIRST_ID);
    int index;
    do {
      index = index(completed);
      completed++;
      listener.sent(tags[index]);
    } while (index != last && completed < posted);
  }
}
