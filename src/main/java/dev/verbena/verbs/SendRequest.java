package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;

/**
 * A send request of a {@link SendList} that is being formatted. Each list has one such object,
 * which refers to the request that was formatted last.
 *
 * <p>If a method throws an exception, the request is unformatted: format it again before posting
 * the list.
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

  /** Makes the request unformatted, so that it cannot be posted with only some of its settings. */
  private RuntimeException discarded(RuntimeException failure) {
    list.discard(index);
    return failure;
  }

  /**
   * Sets the {@code wr_id}, which the completion returns. The default is 0.
   *
   * @param id any value
   * @return this
   */
  public SendRequest id(long id) {
    list.id(index, id);
    return this;
  }

  /**
   * Adds a scatter/gather element (SGE).
   *
   * @param region a registered memory region
   * @param offset the offset of the data in the region, in bytes
   * @param length the length in bytes
   * @return this
   * @throws IndexOutOfBoundsException if the data is not inside the region, or if the request has
   *     the maximum number of SGEs
   */
  public SendRequest local(MemoryRegion region, long offset, long length) {
    try {
      list.local(index, list.sges(index), region, offset, length);
    } catch (RuntimeException e) {
      throw discarded(e);
    }
    return this;
  }

  /**
   * Makes the request send inline data that is already in {@link SendList#inlineData}: {@code
   * IBV_SEND_INLINE}.
   *
   * @param length the length in bytes
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
   * Makes the request send inline data, which is copied now into the list, and into the send queue
   * when it is posted: {@code IBV_SEND_INLINE}.
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
   * Sets the remote memory of a write, read or atomic operation.
   *
   * @param address the remote address
   * @param rkey the remote key
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
   * Sets the destination of a datagram, or of any request on an SRD queue pair.
   *
   * @param handle the address handle of the destination
   * @param number the QPN of the destination
   * @param key the Q_Key of the destination
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
   * Sets the DC target of a request of a DC initiator.
   *
   * @param handle the address handle of the target's device
   * @param number the number of the target (DCTN): that of its {@link QueuePair#localAddress}
   * @param accessKey the DC access key of the target
   * @return this
   */
  public SendRequest toTarget(AddressHandle handle, int number, long accessKey) {
    try {
      list.toTarget(index, handle, number, accessKey);
    } catch (RuntimeException e) {
      throw discarded(e);
    }
    return this;
  }

  /**
   * Sets the shared receive queue of an XRC send request: {@code remote_srqn}.
   *
   * @param number the number of the remote shared receive queue
   * @return this
   */
  public SendRequest sharedReceiveQueue(int number) {
    list.sharedReceiveQueue(index, number);
    return this;
  }

  /**
   * Makes the request signaled: it generates a work completion ({@code IBV_SEND_SIGNALED}). With
   * {@link QueuePairBuilder#signalAll} every request is.
   *
   * @return this
   */
  public SendRequest signaled() {
    list.flag(index, SendList.SIGNALED, true);
    return this;
  }

  /**
   * Delays the request until the preceding reads and atomic operations are completed: {@code
   * IBV_SEND_FENCE}.
   *
   * @return this
   */
  public SendRequest fenced() {
    list.flag(index, SendList.FENCED, true);
    return this;
  }

  /**
   * Makes the remote completion a solicited event: {@code IBV_SEND_SOLICITED}.
   *
   * @return this
   */
  public SendRequest solicited() {
    list.flag(index, SendList.SOLICITED, true);
    return this;
  }

  /**
   * Lets the device compute the checksums of IPv4, TCP and UDP: {@code IBV_SEND_IP_CSUM}.
   *
   * @return this
   */
  public SendRequest checksum() {
    list.flag(index, SendList.CHECKSUM, true);
    return this;
  }

  @Override
  public String toString() {
    return list.describe(index);
  }
}
