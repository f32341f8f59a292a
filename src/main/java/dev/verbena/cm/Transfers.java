package dev.verbena.cm;

import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
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
 * Single requests on the queue pair of an identifier, and waiting for what becomes of them: the
 * functions of {@code rdma_verbs.h}. What {@code rdma_seterrno} does in C, {@link
 * dev.verbena.VerbsException#errno} does here.
 *
 * <p>A method that posts one request returns false if the queue is full; the request gets a
 * completion. Posting and polling allocate nothing. Any number of threads may post.
 */
public final class Transfers {
  private final ProtectionDomain domain;
  private final QueuePair queuePair;
  private final SharedReceiveQueue sharedReceives;
  private final CompletionQueue sendCompletions;
  private final CompletionQueue receiveCompletions;
  private final SendList send = new SendList(1, 1);
  private final ReceiveList receive = new ReceiveList(1, 1);

  /** Made when the first inline request is. */
  private SendList inline;

  /** On a queue pair, and the shared queue it receives from, or null. */
  Transfers(
      QueuePair queuePair,
      SharedReceiveQueue sharedReceives,
      CompletionQueue sendCompletions,
      CompletionQueue receiveCompletions) {
    this.sharedReceives = sharedReceives;
    this.domain = queuePair.domain();
    this.queuePair = queuePair;
    this.sendCompletions = sendCompletions;
    this.receiveCompletions = receiveCompletions;
  }

  /**
   * Registers memory to send from and to receive into: {@code rdma_reg_msgs}.
   *
   * @param memory native memory
   * @return a region; closing it is {@code rdma_dereg_mr}
   */
  public MemoryRegion registerMessages(MemorySegment memory) {
    return domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
  }

  /**
   * Registers memory that the peer may read: {@code rdma_reg_read}.
   *
   * @param memory native memory
   * @return a region; closing it is {@code rdma_dereg_mr}
   */
  public MemoryRegion registerReadable(MemorySegment memory) {
    return domain.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
  }

  /**
   * Registers memory that the peer may write: {@code rdma_reg_write}.
   *
   * @param memory native memory
   * @return a region; closing it is {@code rdma_dereg_mr}
   */
  public MemoryRegion registerWritable(MemorySegment memory) {
    return domain.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
  }

  /**
   * Registers memory that the peer may change by atomics, and read.
   *
   * @param memory native memory; atomics change eight bytes at an address that is a multiple of 8
   * @return a region; closing it is {@code rdma_dereg_mr}
   */
  public MemoryRegion registerAtomic(MemorySegment memory) {
    return domain.registerMemory(
        memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC);
  }

  /**
   * Posts a receive, to the shared queue where there is one: {@code rdma_post_recv}.
   *
   * @param id comes back with the completion
   * @param region where to
   * @param offset where in the region
   * @param length how much room there is
   * @return false if the queue is full
   */
  public boolean receive(long id, MemoryRegion region, long offset, long length) {
    synchronized (receive) {
      receive.id(0, id);
      receive.local(0, region, offset, length);
      return post(receive) == 1;
    }
  }

  /**
   * Posts a send: {@code rdma_post_send}.
   *
   * @param id comes back with the completion
   * @param region where from
   * @param offset where in the region
   * @param length how much
   * @return false if the queue is full
   */
  public boolean send(long id, MemoryRegion region, long offset, long length) {
    synchronized (send) {
      send.send(0).id(id).local(region, offset, length).signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Posts a send whose bytes are copied into the request: {@code rdma_post_send} with {@code
   * IBV_SEND_INLINE}.
   *
   * @param id comes back with the completion
   * @param data any memory, no longer than the queue pair's inline data
   * @return false if the queue is full
   */
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
   * Posts a read of remote memory: {@code rdma_post_read}.
   *
   * @param id comes back with the completion
   * @param region where to
   * @param offset where in the region
   * @param length how much
   * @param remoteAddress where from
   * @param rkey the key of the peer's region
   * @return false if the queue is full
   */
  public boolean read(
      long id, MemoryRegion region, long offset, long length, long remoteAddress, int rkey) {
    synchronized (send) {
      send.read(0).id(id).local(region, offset, length).remote(remoteAddress, rkey).signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Posts a write of remote memory: {@code rdma_post_write}.
   *
   * @param id comes back with the completion
   * @param region where from
   * @param offset where in the region
   * @param length how much
   * @param remoteAddress where to
   * @param rkey the key of the peer's region
   * @return false if the queue is full
   */
  public boolean write(
      long id, MemoryRegion region, long offset, long length, long remoteAddress, int rkey) {
    synchronized (send) {
      send.write(0).id(id).local(region, offset, length).remote(remoteAddress, rkey).signaled();
      return queuePair.post(send) == 1;
    }
  }

  /**
   * Posts a write of remote memory whose bytes are copied into the request: {@code rdma_post_write}
   * with {@code IBV_SEND_INLINE}.
   *
   * @param id comes back with the completion
   * @param data any memory, no longer than the queue pair's inline data
   * @param remoteAddress where to
   * @param rkey the key of the peer's region
   * @return false if the queue is full
   */
  public boolean writeInline(long id, MemorySegment data, long remoteAddress, int rkey) {
    synchronized (send) {
      SendList list = inline();
      list.write(0).id(id).inline(data).remote(remoteAddress, rkey).signaled();
      return queuePair.post(list) == 1;
    }
  }

  /**
   * Posts an atomic that adds to a number in remote memory: {@code ibv_post_send} with {@code
   * IBV_WR_ATOMIC_FETCH_AND_ADD}.
   *
   * @param id comes back with the completion
   * @param region where the number before is written to
   * @param offset where in the region eight bytes are for it
   * @param remoteAddress where the number is: a multiple of 8
   * @param rkey the remote key of the peer's region
   * @param addend what is added
   * @return false if the queue is full
   */
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
   * Posts an atomic that replaces a number in remote memory if it is the expected one: {@code
   * ibv_post_send} with {@code IBV_WR_ATOMIC_CMP_AND_SWP}.
   *
   * @param id comes back with the completion
   * @param region where the number before is written to
   * @param offset where in the region eight bytes are for it
   * @param remoteAddress where the number is: a multiple of 8
   * @param rkey the remote key of the peer's region
   * @param expected what the number must be
   * @param desired what it becomes then
   * @return false if the queue is full
   */
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
   * Posts prepared requests, each with any number of entries: {@code rdma_post_sendv}, {@code
   * rdma_post_readv} and {@code rdma_post_writev}.
   *
   * @param list sends, reads and writes; those that are not signaled complete silently
   * @return how many were taken; the queue had no room for the others
   */
  public int post(SendList list) {
    return queuePair.post(list);
  }

  /**
   * Posts prepared receives, each with any number of entries, to the shared queue where there is
   * one: {@code rdma_post_recvv}.
   *
   * @param list receives
   * @return how many were taken; the queue had no room for the others
   */
  public int post(ReceiveList list) {
    return sharedReceives == null ? queuePair.post(list) : sharedReceives.post(list);
  }

  /**
   * Posts a datagram: {@code rdma_post_ud_send}.
   *
   * @param id comes back with the completion
   * @param region where from
   * @param offset where in the region
   * @param length how much
   * @param handle the path to the peer or group
   * @param number the peer's queue pair; of a group 0xffffff
   * @return false if the queue is full
   */
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
   * @param completions where they are written
   * @param timeout how long to wait at most
   * @return how many there are; 0 if there was none in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the identifier is closed, be it during the wait
   */
  public int awaitSends(Completions completions, Duration timeout) throws InterruptedException {
    return await(sendCompletions, completions, Deadline.after(timeout));
  }

  /**
   * Waits for completions of receives: {@code rdma_get_recv_comp}.
   *
   * @param completions where they are written
   * @param timeout how long to wait at most
   * @return how many there are; 0 if there was none in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the identifier is closed, be it during the wait
   */
  public int awaitReceives(Completions completions, Duration timeout) throws InterruptedException {
    return await(receiveCompletions, completions, Deadline.after(timeout));
  }

  private static int await(CompletionQueue queue, Completions completions, Deadline deadline)
      throws InterruptedException {
    CompletionChannel channel =
        queue
            .channel()
            .orElseThrow(() -> new IllegalStateException(queue + " has no channel to wait on"));
    int polled = queue.poll(completions);
    while (polled == 0 && !deadline.isOver()) {
      queue.requestNotification();
      // One may have come between the look and the request.
      polled = queue.poll(completions);
      if (polled == 0) {
        channel.poll(deadline.remaining());
        polled = queue.poll(completions);
      }
    }
    return polled;
  }
}
