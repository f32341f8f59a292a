package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import org.jspecify.annotations.Nullable;

/**
 * The options of a queue pair beyond {@code struct ibv_qp_init_attr}.
 *
 * @param operations the operations of {@code struct ibv_qp_ex}, or 0 if it is not extended
 * @param flags {@code IBV_QP_CREATE_*}
 * @param maxHeader the longest header of a TSO request
 * @param spreading spreads frames over work queues (RSS), or null
 * @param inlineWrites whether RDMA writes of an SRD queue pair may have inline data
 * @param unsolicitedWrites whether writes with immediate data consume no receive request (SRD)
 * @param dcType {@link #DC_TARGET}, {@link #DC_INITIATOR}, or 0
 * @param accessKey the access key of a DC target
 */
public record QueuePairChoices(
    long operations,
    int flags,
    int maxHeader,
    @Nullable Spreading spreading,
    boolean inlineWrites,
    boolean unsolicitedWrites,
    int dcType,
    long accessKey) {
  /** Types of DC besides those of C: both are {@code IBV_QPT_DRIVER} there. */
  public static final int DC_TARGET = 0x101;

  public static final int DC_INITIATOR = 0x102;

  public static final QueuePairChoices NONE =
      new QueuePairChoices(0, 0, 0, null, false, false, 0, 0);

  /** The options of a DC initiator or target. */
  public static QueuePairChoices dc(long operations, int dcType, long accessKey) {
    return new QueuePairChoices(operations, 0, 0, null, false, false, dcType, accessKey);
  }

  private static final int OF_RAW_PACKETS =
      rdma_h.IBV_QP_CREATE_SCATTER_FCS()
          | rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING()
          | rdma_h.IBV_QP_CREATE_PCI_WRITE_END_PADDING();

  boolean has(int flag) {
    return (flags & flag) != 0;
  }

  /** The flags that a type of queue pair allows. */
  public static int allowedFlags(int type) {
    return type == rdma_h.IBV_QPT_RAW_PACKET()
        ? OF_RAW_PACKETS
        : rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB();
  }
}
