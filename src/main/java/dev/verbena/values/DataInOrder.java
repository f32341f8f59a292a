package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/**
 * The data of an operation that is written in order: {@code enum ibv_query_qp_data_in_order_caps}.
 */
public enum DataInOrder implements NativeFlag {
  /** The whole message. */
  WHOLE_MSG(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG()),
  /** Each aligned block of 128 bytes. */
  ALIGNED_128_BYTES(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES());

  private final long bit;

  DataInOrder(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
