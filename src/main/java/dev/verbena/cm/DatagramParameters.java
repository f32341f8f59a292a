package dev.verbena.cm;

import dev.verbena.raw.rdma_ud_param;
import dev.verbena.verbs.AddressVector;
import java.lang.foreign.MemorySegment;

/**
 * How to reach a datagram service or a multicast group: {@code struct rdma_ud_param}.
 *
 * @param path the way there, to make an address handle of
 * @param queuePairNumber where to send to; of a multicast group 0xffffff
 * @param queueKey what the receiver expects in each datagram
 */
public record DatagramParameters(AddressVector path, int queuePairNumber, int queueKey) {

  static DatagramParameters readFrom(MemorySegment param) {
    return new DatagramParameters(
        AddressVector.readFrom(rdma_ud_param.ah_attr(param)).orElseThrow(),
        rdma_ud_param.qp_num(param),
        rdma_ud_param.qkey(param));
  }
}
