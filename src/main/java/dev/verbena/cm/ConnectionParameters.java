package dev.verbena.cm;

import dev.verbena.internal.Ranges;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;
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
  public static final ConnectionParameters DEFAULT = new ConnectionParameters(new Values());

  /** The values of parameters; not changed once they belong to parameters. */
  private static final class Values implements Cloneable {
    private int responderResources = MAXIMUM;
    private int initiatorDepth = MAXIMUM;
    private boolean flowControl;
    private int retryCount = 6;
    private int rnrRetryCount = 7;
    private boolean sharedReceiveQueue;
    private int queuePairNumber;

    Values copy() {
      try {
        return (Values) clone();
      } catch (CloneNotSupportedException e) {
        throw new AssertionError(e);
      }
    }

    List<Object> all() {
      return List.of(
          responderResources,
          initiatorDepth,
          flowControl,
          retryCount,
          rnrRetryCount,
          sharedReceiveQueue,
          queuePairNumber);
    }
  }

  private final Values values;

  private ConnectionParameters(Values values) {
    this.values = values;
  }

  private ConnectionParameters with(Consumer<Values> change) {
    Values changed = values.copy();
    change.accept(changed);
    return new ConnectionParameters(changed);
  }

  private static int depth(String what, int depth) {
    return Ranges.range(what, depth, 0, MAXIMUM);
  }

  /**
   * {@return these parameters with another number of outstanding reads and atomics in both
   * directions: {@code responder_resources} and {@code initiator_depth}}
   *
   * @param depth the number, 0 to 254, or {@link #MAXIMUM}
   */
  public ConnectionParameters withReadDepth(int depth) {
    return withResponderResources(depth).withInitiatorDepth(depth);
  }

  /**
   * {@return these parameters with another number of outstanding reads and atomics of the remote
   * side that this side can process: {@code responder_resources}}
   *
   * @param resources 0 to 254, or {@link #MAXIMUM}
   */
  public ConnectionParameters withResponderResources(int resources) {
    return with(v -> v.responderResources = depth("responder resources", resources));
  }

  /**
   * {@return these parameters with another number of outstanding reads and atomics of this side:
   * {@code initiator_depth}}
   *
   * @param depth the number, 0 to 254, or {@link #MAXIMUM}
   */
  public ConnectionParameters withInitiatorDepth(int depth) {
    return with(v -> v.initiatorDepth = depth("initiator depth", depth));
  }

  /**
   * {@return these parameters with hardware flow control declared as available: {@code
   * flow_control}} It is exchanged, but not applied.
   */
  public ConnectionParameters withFlowControl() {
    return with(v -> v.flowControl = true);
  }

  /**
   * {@return these parameters with another retry count: {@code retry_count}} Ignored by {@code
   * accept}.
   *
   * @param count the number of retransmissions of a packet before the connection fails, 0 to 7;
   *     unlimited on Soft-RoCE if it is 7
   */
  public ConnectionParameters withRetryCount(int count) {
    return with(v -> v.retryCount = Ranges.range("retry count", count, 0, 7));
  }

  /**
   * {@return these parameters with another RNR retry count: {@code rnr_retry_count}}
   *
   * @param count the number of retransmissions to a remote side without a posted receive request, 0
   *     to 7, where 7 is unlimited
   */
  public ConnectionParameters withRnrRetryCount(int count) {
    return with(v -> v.rnrRetryCount = Ranges.range("RNR retry count", count, 0, 7));
  }

  /**
   * {@return these parameters for a queue pair with a shared receive queue: {@code srq}} Only used
   * for an identifier without a queue pair.
   */
  public ConnectionParameters withSharedReceiveQueue() {
    return with(v -> v.sharedReceiveQueue = true);
  }

  /**
   * {@return these parameters for a queue pair that does not belong to the identifier: {@code
   * qp_num}} Only used for an identifier without a queue pair.
   *
   * @param number the queue pair number (QPN)
   */
  public ConnectionParameters withQueuePairNumber(int number) {
    return with(v -> v.queuePairNumber = number);
  }

  /**
   * {@return the number of outstanding reads and atomics of the remote side that this side can
   * process, 0 to 255; in an event, the initiator depth of the remote side}
   */
  public int responderResources() {
    return values.responderResources;
  }

  /**
   * {@return the number of outstanding reads and atomics of this side, 0 to 255; in an event, the
   * responder resources of the remote side}
   */
  public int initiatorDepth() {
    return values.initiatorDepth;
  }

  /** {@return whether hardware flow control is declared as available} */
  public boolean hasFlowControl() {
    return values.flowControl;
  }

  /** {@return the retry count, 0 to 7} */
  public int retryCount() {
    return values.retryCount;
  }

  /** {@return the RNR retry count, 0 to 7, where 7 is unlimited} */
  public int rnrRetryCount() {
    return values.rnrRetryCount;
  }

  /** {@return whether the queue pair has a shared receive queue} */
  public boolean hasSharedReceiveQueue() {
    return values.sharedReceiveQueue;
  }

  /** {@return the queue pair number (QPN); in an event, that of the remote side} */
  public int queuePairNumber() {
    return values.queuePairNumber;
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
    rdma_conn_param.responder_resources(param, (byte) values.responderResources);
    rdma_conn_param.initiator_depth(param, (byte) values.initiatorDepth);
    rdma_conn_param.flow_control(param, (byte) (values.flowControl ? 1 : 0));
    rdma_conn_param.retry_count(param, (byte) values.retryCount);
    rdma_conn_param.rnr_retry_count(param, (byte) values.rnrRetryCount);
    rdma_conn_param.srq(param, (byte) (values.sharedReceiveQueue ? 1 : 0));
    rdma_conn_param.qp_num(param, values.queuePairNumber);
  }

  static ConnectionParameters readFrom(MemorySegment param) {
    return DEFAULT.with(
        v -> {
          v.responderResources = Byte.toUnsignedInt(rdma_conn_param.responder_resources(param));
          v.initiatorDepth = Byte.toUnsignedInt(rdma_conn_param.initiator_depth(param));
          v.flowControl = rdma_conn_param.flow_control(param) != 0;
          // Three bits each in the messages of the connection manager.
          v.retryCount = rdma_conn_param.retry_count(param) & 7;
          v.rnrRetryCount = rdma_conn_param.rnr_retry_count(param) & 7;
          v.sharedReceiveQueue = rdma_conn_param.srq(param) != 0;
          v.queuePairNumber = rdma_conn_param.qp_num(param);
        });
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ConnectionParameters that && that.values.all().equals(values.all());
  }

  @Override
  public int hashCode() {
    return values.all().hashCode();
  }

  @Override
  public String toString() {
    return ("responder_resources=%d, initiator_depth=%d, flow_control=%b, retry_count=%d,"
            + " rnr_retry_count=%d, srq=%b, qp_num=0x%x")
        .formatted(values.all().toArray());
  }
}
