package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.rdma_h;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The transport service of a queue pair: {@code enum ibv_qp_type}, whose constants have the prefix
 * {@code IBV_QPT_}.
 */
public enum QueuePairType implements NativeConstant {
  /** Reliable connection: one remote queue pair, in order, acknowledged. */
  RC(rdma_h.IBV_QPT_RC()),
  /** Unreliable connection: one remote queue pair, packets may be lost. */
  UC(rdma_h.IBV_QPT_UC()),
  /** Unreliable datagram: any remote queue pair, single packets, multicast. */
  UD(rdma_h.IBV_QPT_UD()),
  /** Raw Ethernet packets. */
  RAW_PACKET(rdma_h.IBV_QPT_RAW_PACKET()),
  /** Extended reliable connection (XRC), send side. */
  XRC_SEND(rdma_h.IBV_QPT_XRC_SEND()),
  /** Extended reliable connection (XRC), receive side. */
  XRC_RECV(rdma_h.IBV_QPT_XRC_RECV()),
  /**
   * Scalable reliable datagram (SRD) of Amazon's EFA: any remote queue pair, acknowledged, in no
   * order. {@code dev.verbena.efa} creates such queue pairs; in C they are {@code IBV_QPT_DRIVER}.
   */
  SRD(rdma_h.IBV_QPT_DRIVER()),
  /**
   * Initiator of mlx5's dynamically connected transport (DC): each request is sent to any {@link
   * #DC_TARGET}, reliably and in order. {@code dev.verbena.mlx5} creates such queue pairs; in C
   * they are {@code IBV_QPT_DRIVER}.
   */
  DC_INITIATOR(rdma_h.IBV_QPT_DRIVER()),
  /**
   * Target of mlx5's dynamically connected transport (DC): receives from any {@link #DC_INITIATOR}
   * that has its access key, into a shared receive queue.
   */
  DC_TARGET(rdma_h.IBV_QPT_DRIVER()),
  /** Another provider-specific service. */
  DRIVER(rdma_h.IBV_QPT_DRIVER());

  private final int code;

  QueuePairType(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }

  /**
   * {@return whether a queue pair of this type is connected to one remote queue pair, as of RC, UC
   * and XRC}
   */
  public boolean isConnected() {
    return switch (this) {
      case RC, UC, XRC_SEND, XRC_RECV -> true;
      case UD, SRD, DC_INITIATOR, DC_TARGET, RAW_PACKET, DRIVER -> false;
    };
  }

  /**
   * {@return whether each send request of a queue pair of this type names a queue pair with its
   * Q_Key as the destination, as of UD and SRD}
   */
  public boolean isAddressed() {
    return this == UD || this == SRD;
  }

  /**
   * {@return whether it belongs to mlx5's dynamically connected transport (DC), as initiators and
   * targets do}
   */
  public boolean isDynamicallyConnected() {
    return this == DC_INITIATOR || this == DC_TARGET;
  }

  /**
   * {@return whether lists of send requests are posted by {@code ibv_wr_*}, as {@code
   * ibv_post_send} lacks what their requests have: for SRD and DC initiators}
   */
  public boolean isPostedByBuilders() {
    return this == SRD || this == DC_INITIATOR;
  }

  /**
   * {@return the types of a mask of device capabilities}
   *
   * @param mask the mask, such as {@code supported_qpts}
   */
  public static Set<QueuePairType> supported(int mask) {
    return Arrays.stream(values())
        .filter(type -> type.code < Integer.SIZE && Verbs.ibv_is_qpt_supported(mask, type.code))
        .collect(Collectors.toUnmodifiableSet());
  }
}
