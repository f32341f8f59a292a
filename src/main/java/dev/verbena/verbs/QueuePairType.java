package dev.verbena.verbs;

import dev.verbena.internal.Verbs;
import dev.verbena.raw.rdma_h;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The transport service of a queue pair: {@code enum ibv_qp_type}, whose constants have the prefix
 * {@code IBV_QPT_}.
 */
public enum QueuePairType implements Codes.Code {
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
  /** Another provider-specific service. */
  DRIVER(rdma_h.IBV_QPT_DRIVER());

  private final int code;

  QueuePairType(int code) {
    this.code = code;
  }

  /**
   * Returns the value of the constant in C.
   *
   * @return the value
   */
  @Override
  public int code() {
    return code;
  }

  /**
   * Returns whether a queue pair of this type is connected to one remote queue pair.
   *
   * @return true for RC, UC and XRC
   */
  public boolean isConnected() {
    return switch (this) {
      case RC, UC, XRC_SEND, XRC_RECV -> true;
      case UD, SRD, RAW_PACKET, DRIVER -> false;
    };
  }

  /** Returns whether each send request of a queue pair of this type names its destination. */
  boolean isAddressed() {
    return this == UD || this == SRD;
  }

  /** Returns the types of a mask of device capabilities. */
  static Set<QueuePairType> supported(int mask) {
    return Arrays.stream(values())
        .filter(type -> type.code < Integer.SIZE && Verbs.ibv_is_qpt_supported(mask, type.code))
        .collect(Collectors.toUnmodifiableSet());
  }
}
