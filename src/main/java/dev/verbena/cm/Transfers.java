package dev.verbena.cm;

import dev.verbena.internal.CheckReturnValue;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import java.time.Duration;

/**
 * Operations on the queue pair of an identifier: registers memory, posts single requests, and waits
 * for their completions. They correspond to the functions of {@code rdma_verbs.h}; {@link
 * dev.verbena.VerbsException#errno} replaces {@code rdma_seterrno}.
 *
 * <p>{@link ConnectionQueues#transfers()} returns them. A method that posts one request returns
 * false if the queue is full; each request is signaled. Posting and polling allocate nothing. Any
 * number of threads may post.
 */
public final class Transfers {
  private final ProtectionDomain domain;
  private final QueuePair queuePair;
  private final SharedReceiveQueue sharedReceives;
  private final CompletionWaiter sendCompletions;
  private final CompletionWaiter receiveCompletions;
  private final SendList send = new SendList(1, 1);
  private final ReceiveList receive = new ReceiveList(1, 1);

  /** Created by the first inline request. */
  private SendList inline;

  /** Creates the operations of a queue pair and its shared receive queue, or null. */
  Transfers(
      QueuePair queuePair,
      SharedReceiveQueue sharedReceives,
      CompletionWaiter sendCompletions,
      CompletionWaiter receiveCompletions) {
    this.sharedReceives = sharedReceives;
    this.domain = queuePair.domain();
    this.queuePair = queuePair;
    this.sendCompletions = sendCompletions;
    this.receiveCompletions = receiveCompletions;
  }

  /**
   * Registers memory for messages, with {@code IBV_ACCESS_LOCAL_WRITE}: {@code rdma_reg_msgs}.
   *
   * @param memory native memory
   * @return the region; closing it calls {@code rdma_dereg_mr}
   */
  public MemoryRegion registerMessages(MemorySegment memory) {
    return domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
  }

  /**
   * Registers memory for RDMA reads of the peer: {@code rdma_reg_read}.
   *
   * @param memory native memory
   * @return the region; closing it calls {@code rdma_dereg_mr}
   */
  public MemoryRegion registerReadable(MemorySegment memory) {
    return domain.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
  }

  /**
   * Registers memory for RDMA writes of the peer: {@code rdma_reg_write}.
   *
   * @param memory native memory
   * @return the region; closing it calls {@code rdma_dereg_mr}
   */
  public MemoryRegion registerWritable(MemorySegment memory) {
    return domain.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
  }

  /**
   * Registers memory for atomic operations and RDMA reads of the peer.
   *
   * @param memory native memory; an atomic operation accesses eight bytes at an address that is a
   *     multiple of 8
   * @return the region; closing it calls {@code rdma_dereg_mr}
   */
  public MemoryRegion registerAtomic(MemorySegment memory) {
    return domain.registerMemory(
        memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC);
  }

  /**
   * Posts a receive request, to the shared receive queue if there is one: {@code rdma_post_recv}.
   *
   * @param id the work request id, returned in the work completion
   * @param region the local region, the destination
   * @param offset the offset in the region, in bytes
   * @param length the maximum length of the message in bytes
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean receive(long id, MemoryRegion region, long offset, long length) {
    synchronized (receive) {
      receive.id(0, id);
      receive.local(0, region, offset, length);
      return post(receive) == 1;
    }
  }

  /**
   * Posts a send request: {@code rdma_post_send}.
   *
   * @param id the work request id, returned in the work completion
   * @param region the local region, the source
   * @param offset the offset in the region, in bytes
   * @param length the length in bytes
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean send(long id, MemoryRegion region, long offset, long length) {
    synchronized (send) {
      send.send(0).id(id).local(region, offset, length).signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Posts a send request with inline data: {@code rdma_post_send} with {@code IBV_SEND_INLINE}.
   *
   * @param id the work request id, returned in the work completion
   * @param data the data, in native or heap memory, at most the queue pair's maximum inline data
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean sendInline(long id, MemorySegment data) {
    synchronized (send) {
      SendList list = inline();
      list.send(0).id(id).inline(data).signaled();
      return queuePair.post(list) == 1;
    }
  }

  private SendList inline() {
    if (inline == null) {
      inline = new SendList(1, 1, Math.max(1, queuePair.capacity().maxInlineData()));
    }
    return inline;
  }

  /**
   * Posts an RDMA read: {@code rdma_post_read}.
   *
   * @param id the work request id, returned in the work completion
   * @param region the local region, the destination
   * @param offset the offset in the region, in bytes
   * @param length the length in bytes
   * @param remoteAddress the remote address of the source
   * @param rkey the remote key of the peer's region
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean read(
      long id, MemoryRegion region, long offset, long length, long remoteAddress, int rkey) {
    synchronized (send) {
      send.read(0).id(id).local(region, offset, length).remote(remoteAddress, rkey).signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Posts an RDMA write: {@code rdma_post_write}.
   *
   * @param id the work request id, returned in the work completion
   * @param region the local region, the source
   * @param offset the offset in the region, in bytes
   * @param length the length in bytes
   * @param remoteAddress the remote address of the destination
   * @param rkey the remote key of the peer's region
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean write(
      long id, MemoryRegion region, long offset, long length, long remoteAddress, int rkey) {
    synchronized (send) {
      send.write(0).id(id).local(region, offset, length).remote(remoteAddress, rkey).signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Posts an RDMA write with inline data: {@code rdma_post_write} with {@code IBV_SEND_INLINE}.
   *
   * @param id the work request id, returned in the work completion
   * @param data the data, in native or heap memory, at most the queue pair's maximum inline data
   * @param remoteAddress the remote address of the destination
   * @param rkey the remote key of the peer's region
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean writeInline(long id, MemorySegment data, long remoteAddress, int rkey) {
    synchronized (send) {
      SendList list = inline();
      list.write(0).id(id).inline(data).remote(remoteAddress, rkey).signaled();
      return queuePair.post(list) == 1;
    }
  }

  /**
   * Posts a fetch-and-add on a 64-bit number in remote memory: {@code ibv_post_send} with {@code
   * IBV_WR_ATOMIC_FETCH_AND_ADD}.
   *
   * @param id the work request id, returned in the work completion
   * @param region the local region for the previous value
   * @param offset the offset of the eight bytes in the region
   * @param remoteAddress the remote address of the number, a multiple of 8
   * @param rkey the remote key of the peer's region
   * @param addend the value to add
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean fetchAndAdd(
      long id, MemoryRegion region, long offset, long remoteAddress, int rkey, long addend) {
    synchronized (send) {
      send.fetchAndAdd(0, addend)
          .id(id)
          .local(region, offset, Long.BYTES)
          .remote(remoteAddress, rkey)
          .signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Posts a compare-and-swap of a 64-bit number in remote memory: {@code ibv_post_send} with {@code
   * IBV_WR_ATOMIC_CMP_AND_SWP}.
   *
   * @param id the work request id, returned in the work completion
   * @param region the local region for the previous value
   * @param offset the offset of the eight bytes in the region
   * @param remoteAddress the remote address of the number, a multiple of 8
   * @param rkey the remote key of the peer's region
   * @param expected the expected value
   * @param desired the new value
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean compareAndSwap(
      long id,
      MemoryRegion region,
      long offset,
      long remoteAddress,
      int rkey,
      long expected,
      long desired) {
    synchronized (send) {
      send.compareAndSwap(0, expected, desired)
          .id(id)
          .local(region, offset, Long.BYTES)
          .remote(remoteAddress, rkey)
          .signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Posts the requests of a list, each with any number of SGEs: {@code rdma_post_sendv}, {@code
   * rdma_post_readv} and {@code rdma_post_writev}.
   *
   * @param list send requests; unsignaled requests generate no work completion
   * @return the number of requests posted; smaller than the size of the list if the queue is full
   */
  @CheckReturnValue
  public int post(SendList list) {
    return queuePair.post(list);
  }

  /**
   * Posts the receive requests of a list, each with any number of SGEs, to the shared receive queue
   * if there is one: {@code rdma_post_recvv}.
   *
   * @param list receive requests
   * @return the number of requests posted; smaller than the size of the list if the queue is full
   */
  @CheckReturnValue
  public int post(ReceiveList list) {
    return sharedReceives == null ? queuePair.post(list) : sharedReceives.post(list);
  }

  /**
   * Posts a datagram: {@code rdma_post_ud_send}.
   *
   * @param id the work request id, returned in the work completion
   * @param region the local region, the source
   * @param offset the offset in the region, in bytes
   * @param length the length in bytes
   * @param handle the address handle of the peer or group
   * @param number the queue pair number (QPN) of the peer; 0xffffff for a multicast group
   * @return false if the queue is full
   */
  @CheckReturnValue
  public boolean sendDatagram(
      long id, MemoryRegion region, long offset, long length, AddressHandle handle, int number) {
    synchronized (send) {
      send.send(0)
          .id(id)
          .local(region, offset, length)
          .to(handle, number, rdma_h.RDMA_UDP_QKEY())
          .signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Waits for completions of sends, reads and writes: {@code rdma_get_send_comp}.
   *
   * @param completions the completions to fill
   * @param timeout the maximum time to wait
   * @return the number of completions; 0 if the timeout expired
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the identifier is closed before or during the wait
   */
  public int awaitSends(Completions completions, Duration timeout) throws InterruptedException {
    return sendCompletions.poll(completions, timeout);
  }

  /**
   * Waits for completions of receives: {@code rdma_get_recv_comp}.
   *
   * @param completions the completions to fill
   * @param timeout the maximum time to wait
   * @return the number of completions; 0 if the timeout expired
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the identifier is closed before or during the wait
   */
  public int awaitReceives(Completions completions, Duration timeout) throws InterruptedException {
    return receiveCompletions.poll(completions, timeout);
  }

  @Override
  public String toString() {
    return "transfers of " + (queuePair == null ? sharedReceives : queuePair);
  }
}
