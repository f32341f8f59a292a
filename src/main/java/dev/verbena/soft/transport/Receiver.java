package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.LateData;
import dev.verbena.soft.device.ReceiveRequest;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftSharedQueue;
import dev.verbena.soft.device.TagList;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import org.jspecify.annotations.Nullable;

/** Fills a receive request with an arriving message. */
final class Receiver {
  private final SoftQueuePair queuePair;
  private ReceiveRequest request;
  private boolean open;
  private long filled;

  /** The shared receive queue that the request is from (XRC, tag matching), or null. */
  private @Nullable SoftSharedQueue from;

  /** Tag matching: whether a tag matched, and whether that was completed already. */
  private boolean matched;

  private boolean announced;
  private int unmatchedOpcode;
  private long tag;
  private int tagData;

  /** How many bytes of the next packet are a header that is not received. */
  private int header;

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
    matched = false;
    request.late = null;
    open = queuePair.takeReceive(from, request);
    return open;
  }

  /**
   * Takes the receive request for the first packet of a SEND of a reliable connection.
   *
   * @return false if none was posted
   */
  boolean open(Packet packet) {
    SoftSharedQueue queue = queuePair.sharedQueueFor(packet.sharedQueue);
    if (queue == null || queue.tags == null) {
      return open(packet.sharedQueue);
    }
    tag = TagList.tag(packet);
    tagData = TagList.data(packet);
    unmatchedOpcode = TagList.unmatchedOpcode(packet);
    if (queue.requests.isEmpty() && !queue.tags.matches(packet)) {
      return false; // It is neither expected nor unexpected before it is received.
    }
    TagList.Tagged found = queue.tags.match(packet);
    if (found == null) {
      return open(packet.sharedQueue);
    }
    from = queue;
    request = new ReceiveRequest(found.elements.capacity());
    request.wrId = found.receiveId;
    request.elements.copyOf(found.elements);
    filled = 0;
    open = true;
    matched = true;
    header = TagList.HEADER;
    announced = !Opcode.ends(Opcode.operation(packet.opcode));
    if (announced) {
      complete(rdma_h.IBV_WC_TM_RECV(), 0, packet, rdma_h.IBV_WC_TM_MATCH());
      open = true;
    }
    return true;
  }

  /** Appends data to what was received: 0, or the status with which the receive fails. */
  int append(long payload, int size) {
    long buffer = payload + header;
    int length = size - header;
    header = 0;
    if (length == 0) {
      return 0;
    }
    if (filled + length > request.elements.length()) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    boolean written =
        queuePair.device.delays.isOn()
            ? lateData().add(domain(), filled, buffer, length)
            : request.elements.scatter(domain(), filled, buffer, length);
    if (!written) {
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    filled += length;
    return 0;
  }

  private LateData lateData() {
    if (request.late == null) {
      request.late = new LateData(request.elements);
    }
    return request.late;
  }

  /** Fills the same request from its beginning. */
  void restart() {
    request.late = null;
    filled = 0;
  }

  private SoftDomain domain() {
    return from == null ? queuePair.domain : from.domain;
  }

  /** Completes a SEND. */
  void completeSend(Packet packet, int flags) {
    if (matched) {
      int match = announced ? 0 : rdma_h.IBV_WC_TM_MATCH();
      complete(
          rdma_h.IBV_WC_TM_RECV(), filled, packet, flags | match | rdma_h.IBV_WC_TM_DATA_VALID());
    } else {
      boolean tagged = from != null && from.tags != null;
      complete(tagged ? unmatchedOpcode : rdma_h.IBV_WC_RECV(), filled, packet, flags);
    }
  }

  /** Completes the receive. */
  void complete(int opcode, long length, Packet packet, int flags) {
    close();
    if (from != null && from.tags != null) {
      queuePair.tagged(tag, tagData);
      queuePair.completeReceive(
          from, request, 0, opcode, (int) length, packet, flags | from.tags.flags());
    } else {
      queuePair.completeReceive(from, request, 0, opcode, (int) length, packet, flags);
    }
  }

  private void close() {
    queuePair.receiveCompletionsOf(from).reserve();
    open = false;
  }

  /** Fails the receive. */
  void fail(int status) {
    close();
    queuePair.completeReceive(from, request, status, rdma_h.IBV_WC_RECV(), 0, null, 0);
  }

  /** Fails the receive because the queue pair leaves its state. */
  void flush() {
    if (open) {
      fail(rdma_h.IBV_WC_WR_FLUSH_ERR());
    }
  }
}
