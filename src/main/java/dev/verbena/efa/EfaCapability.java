package dev.verbena.efa;

import dev.verbena.NativeFlag;

/**
 * A capability of an EFA: the flags of {@code efadv_device_attr.device_caps}, whose names have the
 * prefix {@code EFADV_DEVICE_ATTR_CAPS_}.
 */
public enum EfaCapability implements NativeFlag {
  /** RDMA reads. */
  RDMA_READ(1 << 0),
  /** A limit of RNR retries of SRD queue pairs. */
  RNR_RETRY(1 << 1),
  /** The source GID of messages whose sender has no address handle here. */
  CQ_WITH_SGID(1 << 2),
  /** RDMA writes. */
  RDMA_WRITE(1 << 3),
  /** RDMA writes with immediate data that consume no receive request. */
  UNSOLICITED_WRITE_RECV(1 << 4),
  /** Completion queues in memory of another device. */
  CQ_WITH_EXT_MEM_DMABUF(1 << 5),
  /** Completion counters. */
  COMP_CNTR(1 << 6);

  private final int bit;

  EfaCapability(int bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
