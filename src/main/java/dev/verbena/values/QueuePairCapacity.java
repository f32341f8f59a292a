package dev.verbena.values;

import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_qp_cap;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The capacity of a queue pair: the sizes of its send and receive queues and of their work requests
 * ({@code struct ibv_qp_cap}).
 *
 * <p>As an argument it is the minimum that is required; a device may round it up. As a result, of
 * {@link QueuePair#capacity}, it is what the queue pair has.
 *
 * {@snippet :
 * QueuePairCapacity capacity =
 *     QueuePairCapacity.of(64).withSendSges(4).withMaxInlineData(128);
 * }
 */
public final class QueuePairCapacity {
  /** No queue at all, such as the send queue of the receiving end of XRC. */
  public static final QueuePairCapacity NONE = new QueuePairCapacity(0, 0, 0, 0, 0);

  private final int sendRequests;
  private final int receiveRequests;
  private final int sendSges;
  private final int receiveSges;
  private final int maxInlineData;

  private QueuePairCapacity(
      int sendRequests, int receiveRequests, int sendSges, int receiveSges, int maxInlineData) {
    this.sendRequests = sendRequests;
    this.receiveRequests = receiveRequests;
    this.sendSges = sendSges;
    this.receiveSges = receiveSges;
    this.maxInlineData = maxInlineData;
  }

  /**
   * {@return the capacity of queues of equal length with one scatter/gather element in each work
   * request and no inline data}
   *
   * @param requests the maximum number of outstanding work requests in either queue
   */
  public static QueuePairCapacity of(int requests) {
    requireNotNegative(requests, "outstanding work requests");
    return new QueuePairCapacity(requests, requests, 1, 1, 0);
  }

  /**
   * {@return this capacity with another length of the send queue: {@code max_send_wr}}
   *
   * @param requests the maximum number of outstanding send requests
   */
  public QueuePairCapacity withSendRequests(int requests) {
    requireNotNegative(requests, "outstanding send requests");
    return new QueuePairCapacity(requests, receiveRequests, sendSges, receiveSges, maxInlineData);
  }

  /**
   * {@return this capacity with another length of the receive queue: {@code max_recv_wr}}
   *
   * @param requests the maximum number of outstanding receive requests
   */
  public QueuePairCapacity withReceiveRequests(int requests) {
    requireNotNegative(requests, "outstanding receive requests");
    return new QueuePairCapacity(sendRequests, requests, sendSges, receiveSges, maxInlineData);
  }

  /**
   * {@return this capacity with another size of send requests: {@code max_send_sge}}
   *
   * @param sges the maximum number of scatter/gather elements in a send request
   */
  public QueuePairCapacity withSendSges(int sges) {
    requireNotNegative(sges, "scatter/gather elements in a send request");
    return new QueuePairCapacity(sendRequests, receiveRequests, sges, receiveSges, maxInlineData);
  }

  /**
   * {@return this capacity with another size of receive requests: {@code max_recv_sge}}
   *
   * @param sges the maximum number of scatter/gather elements in a receive request
   */
  public QueuePairCapacity withReceiveSges(int sges) {
    requireNotNegative(sges, "scatter/gather elements in a receive request");
    return new QueuePairCapacity(sendRequests, receiveRequests, sendSges, sges, maxInlineData);
  }

  /**
   * {@return this capacity with room for inline data: {@code max_inline_data}}
   *
   * @param bytes the maximum number of bytes that are copied into a send request
   */
  public QueuePairCapacity withMaxInlineData(int bytes) {
    requireNotNegative(bytes, "bytes of inline data");
    return new QueuePairCapacity(sendRequests, receiveRequests, sendSges, receiveSges, bytes);
  }

  private static void requireNotNegative(int number, String what) {
    if (number < 0) {
      throw new IllegalArgumentException(
          "maximum number of " + what + " must not be negative: " + number);
    }
  }

  /** {@return the maximum number of outstanding send requests: {@code max_send_wr}} */
  public int sendRequests() {
    return sendRequests;
  }

  /** {@return the maximum number of outstanding receive requests: {@code max_recv_wr}} */
  public int receiveRequests() {
    return receiveRequests;
  }

  /**
   * {@return the maximum number of scatter/gather elements in a send request: {@code max_send_sge}}
   */
  public int sendSges() {
    return sendSges;
  }

  /**
   * {@return the maximum number of scatter/gather elements in a receive request: {@code
   * max_recv_sge}}
   */
  public int receiveSges() {
    return receiveSges;
  }

  /**
   * {@return the maximum number of bytes that are copied into a send request: {@code
   * max_inline_data}}
   */
  public int maxInlineData() {
    return maxInlineData;
  }

  /**
   * Writes this capacity to a C struct.
   *
   * @param cap a {@code struct ibv_qp_cap}
   */
  public void writeTo(MemorySegment cap) {
    Segments.writable(cap, ibv_qp_cap.layout());
    ibv_qp_cap.max_send_wr(cap, sendRequests);
    ibv_qp_cap.max_recv_wr(cap, receiveRequests);
    ibv_qp_cap.max_send_sge(cap, sendSges);
    ibv_qp_cap.max_recv_sge(cap, receiveSges);
    ibv_qp_cap.max_inline_data(cap, maxInlineData);
  }

  /**
   * Reads a capacity from a C struct.
   *
   * @param cap a {@code struct ibv_qp_cap}
   * @return the capacity
   */
  public static QueuePairCapacity readFrom(MemorySegment cap) {
    Segments.readable(cap, ibv_qp_cap.layout());
    return new QueuePairCapacity(
        ibv_qp_cap.max_send_wr(cap),
        ibv_qp_cap.max_recv_wr(cap),
        ibv_qp_cap.max_send_sge(cap),
        ibv_qp_cap.max_recv_sge(cap),
        ibv_qp_cap.max_inline_data(cap));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof QueuePairCapacity that
        && that.sendRequests == sendRequests
        && that.receiveRequests == receiveRequests
        && that.sendSges == sendSges
        && that.receiveSges == receiveSges
        && that.maxInlineData == maxInlineData;
  }

  @Override
  public int hashCode() {
    return Objects.hash(sendRequests, receiveRequests, sendSges, receiveSges, maxInlineData);
  }

  @Override
  public String toString() {
    return "max_send_wr=%d, max_recv_wr=%d, max_send_sge=%d, max_recv_sge=%d, max_inline_data=%d"
        .formatted(sendRequests, receiveRequests, sendSges, receiveSges, maxInlineData);
  }
}
