package dev.verbena.messages;

import dev.verbena.internal.time.ScopedLock;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The requests that a server receives, by the number of their receive request: the receive queue
 * that all clients share, and the memory of the requests.
 */
final class ServedRequests {
  /** The maximum size of an RDMA read. */
  private static final long LARGEST_READ = 1L << 31;

  private final ProtectionDomain domain;
  private final long largest;
  private final long stride;
  private final SharedReceiveQueue queue;
  private final MemoryRegion requests;
  private final ReceiveList receives;
  private final ScopedLock posting = new ScopedLock();

  /** The receive requests to post, which the queue did not take; guarded by the lock. */
  private final int[] unposted;

  private int unpostedCount;
  private final long[] lengths;

  /** The bytes of large requests. */
  private final @Nullable MemoryRegion[] large;

  /** Why requests are not answered by the handler. */
  private final @Nullable Throwable[] refused;

  /**
   * Creates the receive queue, and posts all of its receive requests.
   *
   * @param largest the maximum size of a large request
   */
  ServedRequests(ProtectionDomain domain, int most, int messageSize, long largest) {
    this.domain = domain;
    this.largest = Math.min(largest, LARGEST_READ);
    stride = RequestFrame.stride(messageSize);
    queue = SharedReceiveQueue.builder(domain, most).create();
    requests = domain.allocateMemory(most * stride, AccessFlag.LOCAL_WRITE);
    receives = RequestFrame.receives(requests, most, stride);
    large = new MemoryRegion[most];
    lengths = new long[most];
    refused = new Throwable[most];
    unposted = new int[most];
    if (queue.post(receives) < most) {
      throw new IllegalStateException(queue + " takes fewer requests than " + most);
    }
  }

  SharedReceiveQueue queue() {
    return queue;
  }

  /** Returns the bytes from one request to the next, and from one answer to the next. */
  long stride() {
    return stride;
  }

  int slot(int receive) {
    return RequestFrame.slot(requests.memory(), receive * stride);
  }

  int sequence(int receive) {
    return RequestFrame.sequence(requests.memory(), receive * stride);
  }

  /** Returns the kind of a message of a length; -1 if it is no request. */
  int kind(int receive, long length) {
    if (length < RequestFrame.HEADER) {
      return -1;
    }
    int kind = RequestFrame.kind(requests.memory(), receive * stride);
    boolean isLarge =
        kind == RequestFrame.LARGE_REQUEST && length >= RequestFrame.HEADER + RemoteMemory.SIZE;
    return kind == RequestFrame.REQUEST || isLarge ? kind : -1;
  }

  /** Sets the length of a message that is a request. */
  void arrived(int receive, long length) {
    lengths[receive] = length - RequestFrame.HEADER;
  }

  /** Returns the memory of a client that has the bytes of a large request. */
  RemoteMemory remote(int receive) {
    return RequestFrame.remote(requests.memory(), receive * stride);
  }

  /** Allocates memory for the bytes of a large request. */
  MemoryRegion allocate(int receive, long length) {
    if (length > largest) {
      throw new IllegalArgumentException(
          "request of " + length + " bytes exceeds the maximum of the server: " + largest);
    }
    MemoryRegion region = domain.allocateMemory(Math.max(1, length), AccessFlag.LOCAL_WRITE);
    large[receive] = region;
    lengths[receive] = length;
    return region;
  }

  /** Makes the answer of a request be a failure. */
  void refuse(int receive, Throwable reason) {
    refused[receive] = reason;
  }

  /**
   * Returns the bytes of a request.
   *
   * @throws Throwable if it is refused
   */
  MemorySegment bytes(int receive) throws Throwable {
    Throwable reason = refused[receive];
    if (reason != null) {
      throw reason;
    }
    long length = lengths[receive];
    MemoryRegion region = large[receive];
    MemorySegment bytes =
        region == null
            ? requests.memory().asSlice(receive * stride + RequestFrame.HEADER, length)
            : region.memory().asSlice(0, length);
    return bytes.asReadOnly();
  }

  /** Posts the receive request of a request again, which is no longer used. */
  void drop(int receive) {
    MemoryRegion region = large[receive];
    large[receive] = null;
    refused[receive] = null;
    try {
      if (region != null) {
        region.close();
      }
    } finally {
      repost(receive);
    }
  }

  /** Posts a receive request again, with those that the queue did not take before. */
  void repost(int receive) {
    try (var _ = posting.hold()) {
      unposted[unpostedCount++] = receive;
      while (unpostedCount > 0 && queue.post(receives, unposted[unpostedCount - 1], 1) > 0) {
        unpostedCount--;
      }
    }
  }
}
