package dev.verbena.cm;

import dev.verbena.internal.Arguments;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a connection that both sides negotiate: {@code struct rdma_conn_param} without
 * its private data.
 *
 * {@snippet :
 * ConnectionParameters parameters =
 *     ConnectionParameters.DEFAULT.withReadDepth(16).withRnrRetryCount(6);
 * }
 *
 * <p>As an argument of {@link ConnectionId#connect} and {@link ConnectionId#accept} they are those
 * of this side; in an event they are those of the remote side. See {@code rdma_connect(3)} and
 * {@code rdma_accept(3)}.
 */
public final class ConnectionParameters {
  /** The maximum number of outstanding reads and atomics of the device: RDMA_MAX_RESP_RES. */
  public static final int MAXIMUM = rdma_h.RDMA_MAX_RESP_RES();

  /**
   * The maximum number of outstanding reads and atomics of the devices, a retry count of 6, and an
   * RNR retry count of 7, which is unlimited. librdmacm's default is 7 for both; but with a retry
   * count of 7 Soft-RoCE retransmits without limit to a remote side that no longer exists.
   */
  public static final ConnectionParameters DEFAULT =
      new ConnectionParameters(MAXIMUM, MAXIMUM, false, 6, 7, false, 0);

  private final int responderResources;
  private final int initiatorDepth;
  private final boolean flowControl;
  private final int retryCount;
  private final int rnrRetryCount;
  private final boolean sharedReceiveQueue;
  private final int queuePairNumber;

  private ConnectionParameters(
      int responderResources,
      int initiatorDepth,
      boolean flowControl,
      int retryCount,
      int rnrRetryCount,
      boolean sharedReceiveQueue,
      int queuePairNumber) {
    this.responderResources = depth("responder resources", responderResources);
    this.initiatorDepth = depth("initiator depth", initiatorDepth);
    this.flowControl = flowControl;
    this.retryCount = Arguments.range("retry count", retryCount, 0, 7);
    this.rnrRetryCount = Arguments.range("RNR retry count", rnrRetryCount, 0, 7);
    this.sharedReceiveQueue = sharedReceiveQueue;
    this.queuePairNumber = queuePairNumber;
  }

  private static int depth(String what, int depth) {
    return Arguments.range(what, depth, 0, MAXIMUM);
  }

  /**
   * Returns these parameters with another number of outstanding reads and atomics in both
   * directions: {@code responder_resources} and {@code initiator_depth}.
   *
   * @param depth the number, 0 to 254, or {@link #MAXIMUM}
   * @return the parameters
   */
  public ConnectionParameters withReadDepth(int depth) {
    return withResponderResources(depth).withInitiatorDepth(depth);
  }

  /**
   * Returns these parameters with another number of outstanding reads and atomics of the remote
   * side that this side can process: {@code responder_resources}.
   *
   * @param resources 0 to 254, or {@link #MAXIMUM}
   * @return the parameters
   */
  public ConnectionParameters withResponderResources(int resources) {
    return new ConnectionParameters(
        resources,
        initiatorDepth,
        flowControl,
        retryCount,
        rnrRetryCount,
        sharedReceiveQueue,
        queuePairNumber);
  }

  /**
   * Returns these parameters with another number of outstanding reads and atomics of this side:
   * {@code initiator_depth}.
   *
   * @param depth the number, 0 to 254, or {@link #MAXIMUM}
   * @return the parameters
   */
  public ConnectionParameters withInitiatorDepth(int depth) {
    return new ConnectionParameters(
        responderResources,
        depth,
        flowControl,
        retryCount,
        rnrRetryCount,
        sharedReceiveQueue,
        queuePairNumber);
  }

  /**
   * Returns these parameters with hardware flow control declared as available: {@code
   * flow_control}. It is exchanged, but not applied.
   *
   * @return the parameters
   */
  public ConnectionParameters withFlowControl() {
    return new ConnectionParameters(
        responderResources,
        initiatorDepth,
        true,
        retryCount,
        rnrRetryCount,
        sharedReceiveQueue,
        queuePairNumber);
  }

  /**
   * Returns these parameters with another retry count: {@code retry_count}. Ignored by {@code
   * accept}.
   *
   * @param count the number of retransmissions of a packet before the connection fails, 0 to 7;
   *     unlimited on Soft-RoCE if it is 7
   * @return the parameters
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
   * Returns these parameters with another RNR retry count: {@code rnr_retry_count}.
   *
   * @param count the number of retransmissions to a remote side without a posted receive request, 0
   *     to 7, where 7 is unlimited
   * @return the parameters
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
   * Returns these parameters for a queue pair with a shared receive queue: {@code srq}. Only used
   * for an identifier without a queue pair.
   *
   * @return the parameters
   */
  public ConnectionParameters withSharedReceiveQueue() {
    return new ConnectionParameters(
        responderResources,
        initiatorDepth,
        flowControl,
        retryCount,
        rnrRetryCount,
        true,
        queuePairNumber);
  }

  /**
   * Returns these parameters for a queue pair that does not belong to the identifier: {@code
   * qp_num}. Only used for an identifier without a queue pair.
   *
   * @param number the queue pair number (QPN)
   * @return the parameters
   */
  public ConnectionParameters withQueuePairNumber(int number) {
    return new ConnectionParameters(
        responderResources,
        initiatorDepth,
        flowControl,
        retryCount,
        rnrRetryCount,
        sharedReceiveQueue,
        number);
  }

  /**
   * Returns the number of outstanding reads and atomics of the remote side that this side can
   * process; in an event, the initiator depth of the remote side.
   *
   * @return 0 to 255
   */
  public int responderResources() {
    return responderResources;
  }

  /**
   * Returns the number of outstanding reads and atomics of this side; in an event, the responder
   * resources of the remote side.
   *
   * @return 0 to 255
   */
  public int initiatorDepth() {
    return initiatorDepth;
  }

  /**
   * Returns whether hardware flow control is declared as available.
   *
   * @return the declaration
   */
  public boolean hasFlowControl() {
    return flowControl;
  }

  /**
   * Returns the retry count.
   *
   * @return 0 to 7
   */
  public int retryCount() {
    return retryCount;
  }

  /**
   * Returns the RNR retry count.
   *
   * @return 0 to 7, where 7 is unlimited
   */
  public int rnrRetryCount() {
    return rnrRetryCount;
  }

  /**
   * Returns whether the queue pair has a shared receive queue.
   *
   * @return whether it has one
   */
  public boolean hasSharedReceiveQueue() {
    return sharedReceiveQueue;
  }

  /**
   * Returns the queue pair number (QPN).
   *
   * @return the number; in an event, that of the remote side
   */
  public int queuePairNumber() {
    return queuePairNumber;
  }

  /** Writes the C struct, with private data. */
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
        // Three bits each in the messages of the connection manager.
        rdma_conn_param.retry_count(param) & 7,
        rdma_conn_param.rnr_retry_count(param) & 7,
        rdma_conn_param.srq(param) != 0,
        rdma_conn_param.qp_num(param));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ConnectionParameters that
        && that.responderResources == responderResources
        && that.initiatorDepth == initiatorDepth
        && that.flowControl == flowControl
        && that.retryCount == retryCount
        && that.rnrRetryCount == rnrRetryCount
        && that.sharedReceiveQueue == sharedReceiveQueue
        && that.queuePairNumber == queuePairNumber;
  }

  @Override
  public int hashCode() {
    return Objects.hash(
        responderResources,
        initiatorDepth,
        flowControl,
        retryCount,
        rnrRetryCount,
        sharedReceiveQueue,
        queuePairNumber);
  }

  @Override
  public String toString() {
    return ("responder_resources=%d, initiator_depth=%d, flow_control=%b, retry_count=%d,"
            + " rnr_retry_count=%d, srq=%b, qp_num=0x%x")
        .formatted(
            responderResources,
            initiatorDepth,
            flowControl,
            retryCount,
            rnrRetryCount,
            sharedReceiveQueue,
            queuePairNumber);
  }
}
