package dev.verbena.attributes;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** The scope in which atomic operations of a device are atomic: {@code enum ibv_atomic_cap}. */
public enum AtomicScope implements NativeConstant {
  /** Atomic operations are not supported. */
  NONE(rdma_h.IBV_ATOMIC_NONE()),
  /** Atomic among the operations of this device. */
  HCA(rdma_h.IBV_ATOMIC_HCA()),
  /** Atomic among all devices and processors of the host. */
  GLOB(rdma_h.IBV_ATOMIC_GLOB());

  private final int code;

  AtomicScope(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
