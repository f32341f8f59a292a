package dev.verbena.verbs;

import dev.verbena.raw.ibv_qp_cap;
import java.lang.foreign.MemorySegment;

/**
 * How much the queues of a queue pair hold: {@code struct ibv_qp_cap}.
 *
 * @param sendRequests outstanding send requests
 * @param receiveRequests outstanding receive requests
 * @param sendEntries scatter/gather entries of a send request
 * @param receiveEntries scatter/gather entries of a receive request
 * @param inlineData bytes of a send request that may be copied into it
 */
public record QueuePairCapacity(
    int sendRequests, int receiveRequests, int sendEntries, int receiveEntries, int inlineData) {

  /** Checks that no number is negative. */
  public QueuePairCapacity {
    if ((sendRequests | receiveRequests | sendEntries | receiveEntries | inlineData) < 0) {
      throw new IllegalArgumentException("a negative number in a queue pair's capacity");
    }
  }

  /**
   * Queues of equal depth with one entry for each request and no inline data.
   *
   * @param requests outstanding requests, in either direction
   * @return the capacity
   */
  public static QueuePairCapacity of(int requests) {
    return new QueuePairCapacity(requests, requests, 1, 1, 0);
  }

  /**
   * Writes the numbers for C.
   *
   * @param cap a {@code struct ibv_qp_cap}
   */
  public void writeTo(MemorySegment cap) {
    ibv_qp_cap.max_send_wr(cap, sendRequests);
    ibv_qp_cap.max_recv_wr(cap, receiveRequests);
    ibv_qp_cap.max_send_sge(cap, sendEntries);
    ibv_qp_cap.max_recv_sge(cap, receiveEntries);
    ibv_qp_cap.max_inline_data(cap, inlineData);
  }

  /**
   * Reads the numbers of C.
   *
   * @param cap a {@code struct ibv_qp_cap}
   * @return what it says
   */
  public static QueuePairCapacity readFrom(MemorySegment cap) {
    return new QueuePairCapacity(
        ibv_qp_cap.max_send_wr(cap),
        ibv_qp_cap.max_recv_wr(cap),
        ibv_qp_cap.max_send_sge(cap),
        ibv_qp_cap.max_recv_sge(cap),
        ibv_qp_cap.max_inline_data(cap));
  }
}
