package dev.verbena.soft;

import dev.verbena.raw.rdma_h;

/**
 * What a local or remote key stands for: a range of addresses of a protection domain, the memory
 * behind it, and the allowed access. Of a memory region, or of a memory window that is bound to
 * one.
 */
final class MemoryKey {
  final int key;
  final SoftDomain domain;

  /** The first address of the range. */
  final long start;

  final long length;

  /** Where the memory of the first address is. */
  final long memory;

  final int access;

  /** The queue pair that alone may use it (memory window of type 2), or null. */
  final SoftQueuePair owner;

  /** Whether SEND with invalidate and local invalidate apply to it. */
  final SoftWindow window;

  /** Whether it is a null region: reads give zeros, writes are discarded. */
  final boolean isNull;

  MemoryKey(
      int key,
      SoftDomain domain,
      long start,
      long length,
      long memory,
      int access,
      SoftQueuePair owner,
      SoftWindow window,
      boolean isNull) {
    this.key = key;
    this.domain = domain;
    this.start = start;
    this.length = length;
    this.memory = memory;
    this.access = access;
    this.owner = owner;
    this.window = window;
    this.isNull = isNull;
  }

  /** Whether a range of addresses lies within it. */
  boolean covers(long address, long size) {
    long offset = address - start;
    return isNull || (offset >= 0 && size >= 0 && size <= length && offset <= length - size);
  }

  /** Whether all of some access flags are allowed. */
  boolean allows(int wanted) {
    return isNull || (access & wanted) == wanted;
  }

  /** Where the memory of an address is. */
  long at(long address) {
    return memory + (address - start);
  }

  /** Whether it serves local work requests of a domain. */
  boolean isLocalTo(SoftDomain other, int wanted) {
    return window == null && domain.root() == other.root() && allows(wanted);
  }

  /** Whether it serves requests that a queue pair received for a domain. */
  boolean serves(SoftDomain target, SoftQueuePair queuePair, int wanted) {
    return domain.root() == target.root()
        && (owner == null || owner == queuePair)
        && allows(wanted);
  }

  static int remoteAccess() {
    return rdma_h.IBV_ACCESS_REMOTE_READ()
        | rdma_h.IBV_ACCESS_REMOTE_WRITE()
        | rdma_h.IBV_ACCESS_REMOTE_ATOMIC();
  }
}
