package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** Among whom a device's atomic operations are atomic: {@code enum ibv_atomic_cap}. */
public enum AtomicScope implements Codes.Code {
  /** There are no atomic operations. */
  NONE(rdma_h.IBV_ATOMIC_NONE()),
  /** Among the operations of this device. */
  HCA(rdma_h.IBV_ATOMIC_HCA()),
  /** Among all devices and the processors. */
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
