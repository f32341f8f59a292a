package dev.verbena.cm;

import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.rdma_ud_param;
import java.lang.foreign.MemorySegment;

/**
 * How to reach a datagram service or a multicast group: {@code struct rdma_ud_param}.
 *
 * @param queuePairNumber where to send to; of a multicast group, 0xffffff
 * @param queueKey what the receiver expects in each datagram
 * @param addressHandle the {@code struct ibv_ah_attr} to make an address handle of, read-only
 */
public record DatagramParameters(int queuePairNumber, int queueKey, MemorySegment addressHandle) {

  static DatagramParameters readFrom(MemorySegment param) {
    MemorySegment copy = MemorySegment.ofArray(new long[(int) ibv_ah_attr.sizeof() / Long.BYTES]);
    copy.copyFrom(rdma_ud_param.ah_attr(param));
    return new DatagramParameters(
        rdma_ud_param.qp_num(param), rdma_ud_param.qkey(param), copy.asReadOnly());
  }
}
