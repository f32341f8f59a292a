package dev.verbena.attributes;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/**
 * A device capability: {@code enum ibv_device_cap_flags}, and the flags that only {@code
 * ibv_query_device_ex} returns.
 */
public enum DeviceCapability implements NativeFlag {
  /** Resizing of queue pairs. */
  RESIZE_MAX_WR(rdma_h.IBV_DEVICE_RESIZE_MAX_WR()),
  /** P_Key violation counters for each port. */
  BAD_PKEY_CNTR(rdma_h.IBV_DEVICE_BAD_PKEY_CNTR()),
  /** Q_Key violation counters for each port. */
  BAD_QKEY_CNTR(rdma_h.IBV_DEVICE_BAD_QKEY_CNTR()),
  /** Multicast of raw packets. */
  RAW_MULTI(rdma_h.IBV_DEVICE_RAW_MULTI()),
  /** Automatic path migration (APM). */
  AUTO_PATH_MIG(rdma_h.IBV_DEVICE_AUTO_PATH_MIG()),
  /** Change of the port of a queue pair in state SQD. */
  CHANGE_PHY_PORT(rdma_h.IBV_DEVICE_CHANGE_PHY_PORT()),
  /** Check that the port of an address handle is that of the queue pair. */
  UD_AV_PORT_ENFORCE(rdma_h.IBV_DEVICE_UD_AV_PORT_ENFORCE()),
  /** The current state as an attribute of a state transition. */
  CURR_QP_STATE_MOD(rdma_h.IBV_DEVICE_CURR_QP_STATE_MOD()),
  /** Shutdown of ports. */
  SHUTDOWN_PORT(rdma_h.IBV_DEVICE_SHUTDOWN_PORT()),
  /** Setting of the InitType of a port. */
  INIT_TYPE(rdma_h.IBV_DEVICE_INIT_TYPE()),
  /** An event when a port becomes active. */
  PORT_ACTIVE_EVENT(rdma_h.IBV_DEVICE_PORT_ACTIVE_EVENT()),
  /** System image GUID. */
  SYS_IMAGE_GUID(rdma_h.IBV_DEVICE_SYS_IMAGE_GUID()),
  /** Generation of RNR NAKs for RC. */
  RC_RNR_NAK_GEN(rdma_h.IBV_DEVICE_RC_RNR_NAK_GEN()),
  /** Resizing of shared receive queues. */
  SRQ_RESIZE(rdma_h.IBV_DEVICE_SRQ_RESIZE()),
  /** Request of a notification after the n-th completion. */
  N_NOTIFY_CQ(rdma_h.IBV_DEVICE_N_NOTIFY_CQ()),
  /** Memory windows of type 1. */
  MEM_WINDOW(rdma_h.IBV_DEVICE_MEM_WINDOW()),
  /** IP checksum offload for UD. */
  UD_IP_CSUM(rdma_h.IBV_DEVICE_UD_IP_CSUM()),
  /** Extended reliable connection (XRC). */
  XRC(rdma_h.IBV_DEVICE_XRC()),
  /** Memory management extensions, such as local invalidation and fast registration. */
  MEM_MGT_EXTENSIONS(rdma_h.IBV_DEVICE_MEM_MGT_EXTENSIONS()),
  /** Memory windows of type 2A. */
  MEM_WINDOW_TYPE_2A(rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2A()),
  /** Memory windows of type 2B. */
  MEM_WINDOW_TYPE_2B(rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2B()),
  /** IP checksum offload for RC. */
  RC_IP_CSUM(rdma_h.IBV_DEVICE_RC_IP_CSUM()),
  /** IP checksum offload for raw packets. */
  RAW_IP_CSUM(rdma_h.IBV_DEVICE_RAW_IP_CSUM()),
  /** Flow steering. */
  MANAGED_FLOW_STEERING(rdma_h.IBV_DEVICE_MANAGED_FLOW_STEERING()),
  /** Receiving the frame check sequence (FCS) of raw packets. */
  RAW_SCATTER_FCS(rdma_h.IBV_DEVICE_RAW_SCATTER_FCS()),
  /** Padding of PCI writes to whole cache lines. */
  PCI_WRITE_END_PADDING(rdma_h.IBV_DEVICE_PCI_WRITE_END_PADDING()),
  /** DMA through bounce buffers in a confidential virtual machine. */
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
