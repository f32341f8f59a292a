package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/**
 * What a device can do: {@code enum ibv_device_cap_flags} and the flags that only {@code
 * ibv_query_device_ex} tells.
 */
public enum DeviceCapability implements Flags.Flag {
  /** Queue pairs can be resized. */
  RESIZE_MAX_WR(rdma_h.IBV_DEVICE_RESIZE_MAX_WR()),
  /** Wrong P_Keys are counted for each port. */
  BAD_PKEY_CNTR(rdma_h.IBV_DEVICE_BAD_PKEY_CNTR()),
  /** Wrong Q_Keys are counted for each port. */
  BAD_QKEY_CNTR(rdma_h.IBV_DEVICE_BAD_QKEY_CNTR()),
  /** Raw packets can be multicast. */
  RAW_MULTI(rdma_h.IBV_DEVICE_RAW_MULTI()),
  /** Connections can migrate to another path. */
  AUTO_PATH_MIG(rdma_h.IBV_DEVICE_AUTO_PATH_MIG()),
  /** The port of a queue pair can be changed in state SQD. */
  CHANGE_PHY_PORT(rdma_h.IBV_DEVICE_CHANGE_PHY_PORT()),
  /** Address handles are checked to be of the queue pair's port. */
  UD_AV_PORT_ENFORCE(rdma_h.IBV_DEVICE_UD_AV_PORT_ENFORCE()),
  /** The assumed current state can be given with a transition. */
  CURR_QP_STATE_MOD(rdma_h.IBV_DEVICE_CURR_QP_STATE_MOD()),
  /** Ports can be shut down. */
  SHUTDOWN_PORT(rdma_h.IBV_DEVICE_SHUTDOWN_PORT()),
  /** A port's InitType can be set. */
  INIT_TYPE(rdma_h.IBV_DEVICE_INIT_TYPE()),
  /** An event tells when a port becomes active. */
  PORT_ACTIVE_EVENT(rdma_h.IBV_DEVICE_PORT_ACTIVE_EVENT()),
  /** There is a system image GUID. */
  SYS_IMAGE_GUID(rdma_h.IBV_DEVICE_SYS_IMAGE_GUID()),
  /** RNR NAKs are sent on reliable connections. */
  RC_RNR_NAK_GEN(rdma_h.IBV_DEVICE_RC_RNR_NAK_GEN()),
  /** Shared receive queues can be resized. */
  SRQ_RESIZE(rdma_h.IBV_DEVICE_SRQ_RESIZE()),
  /** Notification after the n-th completion can be asked for. */
  N_NOTIFY_CQ(rdma_h.IBV_DEVICE_N_NOTIFY_CQ()),
  /** Memory windows of type 1 are supported. */
  MEM_WINDOW(rdma_h.IBV_DEVICE_MEM_WINDOW()),
  /** IP checksums are computed for UD. */
  UD_IP_CSUM(rdma_h.IBV_DEVICE_UD_IP_CSUM()),
  /** Extended reliable connections are supported. */
  XRC(rdma_h.IBV_DEVICE_XRC()),
  /** Local invalidation, fast registration and the like are supported. */
  MEM_MGT_EXTENSIONS(rdma_h.IBV_DEVICE_MEM_MGT_EXTENSIONS()),
  /** Memory windows of type 2A are supported. */
  MEM_WINDOW_TYPE_2A(rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2A()),
  /** Memory windows of type 2B are supported. */
  MEM_WINDOW_TYPE_2B(rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2B()),
  /** IP checksums are computed for RC. */
  RC_IP_CSUM(rdma_h.IBV_DEVICE_RC_IP_CSUM()),
  /** IP checksums are computed for raw packets. */
  RAW_IP_CSUM(rdma_h.IBV_DEVICE_RAW_IP_CSUM()),
  /** Flow steering is supported. */
  MANAGED_FLOW_STEERING(rdma_h.IBV_DEVICE_MANAGED_FLOW_STEERING()),
  /** The frame check sequence of raw packets can be received. */
  RAW_SCATTER_FCS(rdma_h.IBV_DEVICE_RAW_SCATTER_FCS()),
  /** Writes to memory can be padded to whole cache lines. */
  PCI_WRITE_END_PADDING(rdma_h.IBV_DEVICE_PCI_WRITE_END_PADDING()),
  /** In a confidential virtual machine, memory is reached through bounce buffers. */
  CC_DMA_BOUNCE(rdma_h.IBV_DEVICE_CC_DMA_BOUNCE());

  private final long bit;

  DeviceCapability(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
