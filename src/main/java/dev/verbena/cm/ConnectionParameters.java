package dev.verbena.cm;

import dev.verbena.internal.Arguments;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * What two ends of a connection agree on: {@code struct rdma_conn_param} without its private data.
 *
 * @param responderResources outstanding reads and atomics of the peer that this end can hold; in an
 *     event, the peer's {@code initiatorDepth}
 * @param initiatorDepth outstanding reads and atomics of this end that the peer must hold; in an
 *     event, the peer's {@code responderResources}
 * @param flowControl whether hardware flow control is said to be available; exchanged, not applied
 * @param retryCount how often a packet is sent again before the connection breaks, 0 to 7;
 *     Soft-RoCE takes 7 for without end; ignored when accepting
 * @param rnrRetryCount RNR retry count: how often a peer without a posted receive is tried again, 0
 *     to 7, where 7 is without end by the InfiniBand specification
 * @param sharedReceiveQueue whether receives come from a shared queue; only asked for without a
 *     queue pair on the identifier
 * @param queuePairNumber the queue pair; only asked for without a queue pair on the identifier
 */
public record ConnectionParameters(
    int responderResources,
    int initiatorDepth,
    boolean flowControl,
    int retryCount,
    int rnrRetryCount,
    boolean sharedReceiveQueue,
    int queuePairNumber) {

  /** As many outstanding reads and atomics as the device can: {@code RDMA_MAX_RESP_RES}. */
  public static final int MAXIMUM = rdma_h.RDMA_MAX_RESP_RES();

  /**
   * As many outstanding reads and atomics as the devices can, a retry count of 6, and an RNR retry
   * count of 7, which is without end. What librdmacm takes for NULL has 7 for both; but with a
   * retry count of 7 Soft-RoCE sends for ever to a peer that has gone.
   */
  public static final ConnectionParameters DEFAULT =
      new ConnectionParameters(MAXIMUM, MAXIMUM, false, 6, 7, false, 0);

  /** Checks the ranges that the fields have in C. */
  public ConnectionParameters {
    Arguments.range("responderResources", responderResources, 0, MAXIMUM);
    Arguments.range("initiatorDepth", initiatorDepth, 0, MAXIMUM);
    Arguments.range("retryCount", retryCount, 0, 7);
    Arguments.range("rnrRetryCount", rnrRetryCount, 0, 7);
  }

  /**
   * The same with another number of outstanding reads and atomics, in both directions.
   *
   * @param depth 0 to 254, or {@link #MAXIMUM}
   * @return new parameters
   */
  public ConnectionParameters withReadDepth(int depth) {
    return new ConnectionParameters(
        depth, depth, flowControl, retryCount, rnrRetryCount, sharedReceiveQueue, queuePairNumber);
  }

  /**
   * The same with another retry count.
   *
   * @param count how often a packet is sent again, 0 to 7; Soft-RoCE takes 7 for without end
   * @return new parameters
   */
  public ConnectionParameters withRetryCount(int count) {
    return new ConnectionParameters(
        responderResources,
        initiatorDepth,
        flowControl,
        count,
        rnrRetryCount,
        sharedReceiveQueue,
        queuePairNumber);
  }

  /**
   * The same with another RNR retry count.
   *
   * @param count how often a peer without a posted receive is tried again, 0 to 7, where 7 is
   *     without end
   * @return new parameters
   */
  public ConnectionParameters withRnrRetryCount(int count) {
    return new ConnectionParameters(
        responderResources,
        initiatorDepth,
        flowControl,
        retryCount,
        count,
        sharedReceiveQueue,
        queuePairNumber);
  }

  /**
   * The same for a queue pair that is not the identifier's.
   *
   * @param number its number
   * @param shared whether its receives come from a shared queue
   * @return new parameters
   */
  public ConnectionParameters withQueuePair(int number, boolean shared) {
    return new ConnectionParameters(
        responderResources, initiatorDepth, flowControl, retryCount, rnrRetryCount, shared, number);
  }

  /** The C struct, with private data. */
  MemorySegment write(byte[] privateData, Arena arena) {
    MemorySegment param = rdma_conn_param.allocate(arena);
    writeTo(param);
    rdma_conn_param.private_data(param, PrivateData.write(privateData, arena));
    rdma_conn_param.private_data_len(param, (byte) privateData.length);
    return param;
  }

  void writeTo(MemorySegment param) {
    rdma_conn_param.responder_resources(param, (byte) responderResources);
    rdma_conn_param.initiator_depth(param, (byte) initiatorDepth);
    rdma_conn_param.flow_control(param, (byte) (flowControl ? 1 : 0));
    rdma_conn_param.retry_count(param, (byte) retryCount);
    rdma_conn_param.rnr_retry_count(param, (byte) rnrRetryCount);
    rdma_conn_param.srq(param, (byte) (sharedReceiveQueue ? 1 : 0));
    rdma_conn_param.qp_num(param, queuePairNumber);
  }

  static ConnectionParameters readFrom(MemorySegment param) {
    return new ConnectionParameters(
        Byte.toUnsignedInt(rdma_conn_param.responder_resources(param)),
        Byte.toUnsignedInt(rdma_conn_param.initiator_depth(param)),
        rdma_conn_param.flow_control(param) != 0,
        // Three bits each on the wire.
        rdma_conn_param.retry_count(param) & 7,
        rdma_conn_param.rnr_retry_count(param) & 7,
        rdma_conn_param.srq(param) != 0,
        rdma_conn_param.qp_num(param));
  }
}
