package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;

/**
 * One request of a {@link SendList} that is being formatted. There is one such object for each
 * list: it stands for the request that was formatted last.
 *
 * <p>If a method throws, the request is not formatted any more: it must be formatted anew before
 * the list can be posted.
 */
public final class SendRequest {
  private final SendList list;
  private int index;

  SendRequest(SendList list) {
    this.list = list;
  }

  SendRequest at(int request) {
    index = request;
    return this;
  }

  /** Leaves no request that could be posted with a part of what was asked for. */
  private RuntimeException discarded(RuntimeException failure) {
    list.discard(index);
    return failure;
  }

  /**
   * Sets the number that comes back in the completion; 0 if this is not called.
   *
   * @param id any number
   * @return this
   */
  public SendRequest id(long id) {
    list.id(index, id);
    return this;
  }

  /**
   * Adds a scatter/gather entry.
   *
   * @param region registered memory
   * @param offset where in the region the data begins
   * @param length its length
   * @return this
   * @throws IndexOutOfBoundsException if the data leaves the region, or if there is no room for one
   *     more entry
   */
  public SendRequest local(MemoryRegion region, long offset, long length) {
    try {
      list.local(index, list.entries(index), region, offset, length);
    } catch (RuntimeException e) {
      throw discarded(e);
    }
    return this;
  }

  /**
   * Makes the request send data that is already in {@link SendList#inlineData}.
   *
   * @param length how much of it
   * @return this
   */
  public SendRequest inline(long length) {
    try {
      list.inline(index, length);
    } catch (RuntimeException e) {
      throw discarded(e);
    }
    return this;
  }

  /**
   * Makes the request send data inline, copied from here now, and into the queue when it is posted.
   *
   * @param data memory of any kind
   * @return this
   */
  public SendRequest inline(MemorySegment data) {
    try {
      list.inline(index, data.byteSize());
      list.inlineData(index).copyFrom(data);
    } catch (RuntimeException e) {
      throw discarded(e);
    }
    return this;
  }

  /**
   * Sets where the peer's memory is that a write, read or atomic works on.
   *
   * @param address the address, as the peer gave it
   * @param rkey the key, as the peer gave it
   * @return this
   */
  public SendRequest remote(long address, int rkey) {
    try {
      list.remote(index, address, rkey);
    } catch (RuntimeException e) {
      throw discarded(e);
    }
    return this;
  }

  /**
   * Sets where a datagram goes.
   *
   * @param handle the path to the peer
   * @param number the number of the peer's queue pair
   * @param key the Q_Key of the peer's queue pair
   * @return this
   */
  public SendRequest to(AddressHandle handle, int number, int key) {
    try {
      list.to(index, handle, number, key);
    } catch (RuntimeException e) {
      throw discarded(e);
    }
    return this;
  }

  /**
   * Sets the extended reliable connection's target at the peer.
   *
   * @param number the number of the peer's shared receive queue
   * @return this
   */
  public SendRequest sharedReceiveQueue(int number) {
    list.sharedReceiveQueue(index, number);
    return this;
  }

  /**
   * Makes the request leave a completion. On a queue pair that signals all it does anyway.
   *
   * @return this
   */
  public SendRequest signaled() {
    list.flag(index, SendList.SIGNALED, true);
    return this;
  }

  /**
   * Holds the request back until the reads and atomics before it are done.
   *
   * @return this
   */
  public SendRequest fenced() {
    list.flag(index, SendList.FENCED, true);
    return this;
  }

  /**
   * Makes the peer's completion one that wakes those who wait for solicited ones only.
   *
   * @return this
   */
  public SendRequest solicited() {
    list.flag(index, SendList.SOLICITED, true);
    return this;
  }

  /**
   * Lets the device compute the checksums of IPv4, TCP and UDP.
   *
   * @return this
   */
  public SendRequest checksum() {
    list.flag(index, SendList.CHECKSUM, true);
    return this;
  }
}
