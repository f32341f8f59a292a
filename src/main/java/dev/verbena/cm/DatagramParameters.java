package dev.verbena.cm;

import dev.verbena.address.AddressVector;
import dev.verbena.raw.rdma_ud_param;
import java.lang.foreign.MemorySegment;

/**
 * The parameters to send to a datagram service or a multicast group: {@code struct rdma_ud_param}.
 *
 * @param path the address vector, to create an address handle with
 * @param queuePairNumber the queue pair number (QPN); 0xffffff for a multicast group
 * @param queueKey the Q_Key of the receiver
 */
public record DatagramParameters(AddressVector path, int queuePairNumber, int queueKey) {

  static DatagramParameters readFrom(MemorySegment param) {
    return new DatagramParameters(
        AddressVector.readFrom(rdma_ud_param.ah_attr(param)).orElseThrow(),
        rdma_ud_param.qp_num(param),
        rdma_ud_param.qkey(param));
  }
}
