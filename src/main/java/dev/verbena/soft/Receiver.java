package dev.verbena.soft;

import dev.verbena.raw.rdma_h;

/** The receive request that an arriving message fills. */
final class Receiver {
  private final SoftQueuePair queuePair;
  private ReceiveRequest request;
  private boolean open;
  private long filled;

  /** The shared receive queue that the request is from (XRC), or null. */
  private SoftSharedQueue from;

  Receiver(SoftQueuePair queuePair) {
    this.queuePair = queuePair;
  }

  /** Whether a request was taken and not completed. */
  boolean isOpen() {
    return open;
  }

  /** How many bytes of the request are filled. */
  long filled() {
    return filled;
  }

  /**
   * Takes a receive request.
   *
   * @param sharedQueue the number of the XRC shared receive queue, or 0
   * @return false if none was posted
   */
  boolean open(int sharedQueue) {
    from = queuePair.sharedQueueFor(sharedQueue);
    int capacity = queuePair.maxReceiveElements(from);
    if (request == null || request.elements.capacity() < capacity) {
      request = new ReceiveRequest(capacity);
    }
    filled = 0;
    open = queuePair.takeReceive(from, request);
    return open;
  }

  /** Appends data to what was received: 0, or the status with which the receive fails. */
  int append(long buffer, int length) {
    if (length == 0) {
      return 0;
    }
    if (filled + length > request.elements.length()) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    if (!request.elements.scatter(domain(), filled, buffer, length)) {
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    filled += length;
    return 0;
  }

  /** Fills the same request from its beginning. */
  void restart() {
    filled = 0;
  }

  private SoftDomain domain() {
    return from == null ? queuePair.domain : from.domain;
  }

  /** Leaves out the beginning of the buffer: it keeps what it holds. */
  void skip(int length) {
    filled += length;
  }

  /** Completes the receive. */
  void complete(int opcode, long length, Packet packet, int flags) {
    open = false;
    queuePair.completeReceive(from, request.wrId, 0, opcode, (int) length, packet, flags);
  }

  /** Fails the receive. */
  void fail(int status) {
    open = false;
    queuePair.completeReceive(from, request.wrId, status, rdma_h.IBV_WC_RECV(), 0, null, 0);
  }

  /** Fails the receive because the queue pair leaves its state. */
  void flush() {
    if (open) {
      fail(rdma_h.IBV_WC_WR_FLUSH_ERR());
    }
  }
}
