package dev.verbena.attributes;

import dev.verbena.FlagSet;
import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** A port capability: {@code enum ibv_port_cap_flags} and {@code enum ibv_port_cap_flags2}. */
public enum PortCapability implements NativeFlag {
  /** The port runs the subnet manager. */
  SM(rdma_h.IBV_PORT_SM()),
  /** Notices are supported. */
  NOTICE_SUP(rdma_h.IBV_PORT_NOTICE_SUP()),
  /** Traps are supported. */
  TRAP_SUP(rdma_h.IBV_PORT_TRAP_SUP()),
  /** Optional inter-packet delays are supported. */
  OPT_IPD_SUP(rdma_h.IBV_PORT_OPT_IPD_SUP()),
  /** Automatic path migration is supported. */
  AUTO_MIGR_SUP(rdma_h.IBV_PORT_AUTO_MIGR_SUP()),
  /** Service levels are mapped to virtual lanes. */
  SL_MAP_SUP(rdma_h.IBV_PORT_SL_MAP_SUP()),
  /** The M_Key is kept when power is off. */
  MKEY_NVRAM(rdma_h.IBV_PORT_MKEY_NVRAM()),
  /** The P_Key table is kept when power is off. */
  PKEY_NVRAM(rdma_h.IBV_PORT_PKEY_NVRAM()),
  /** LED information is supported. */
  LED_INFO_SUP(rdma_h.IBV_PORT_LED_INFO_SUP()),
  /** A system image GUID is supported. */
  SYS_IMAGE_GUID_SUP(rdma_h.IBV_PORT_SYS_IMAGE_GUID_SUP()),
  /** Traps for P_Key violations at a switch's outer port are supported. */
  PKEY_SW_EXT_PORT_TRAP_SUP(rdma_h.IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP()),
  /** Speeds beyond QDR are supported. */
  EXTENDED_SPEEDS_SUP(rdma_h.IBV_PORT_EXTENDED_SPEEDS_SUP()),
  /** A second capability mask is supported. */
  CAP_MASK2_SUP(rdma_h.IBV_PORT_CAP_MASK2_SUP()),
  /** Communication management is supported. */
  CM_SUP(rdma_h.IBV_PORT_CM_SUP()),
  /** SNMP tunnelling is supported. */
  SNMP_TUNNEL_SUP(rdma_h.IBV_PORT_SNMP_TUNNEL_SUP()),
  /** The port can be initialised again. */
  REINIT_SUP(rdma_h.IBV_PORT_REINIT_SUP()),
  /** Device management is supported. */
  DEVICE_MGMT_SUP(rdma_h.IBV_PORT_DEVICE_MGMT_SUP()),
  /** A vendor-specific management class is supported. */
  VENDOR_CLASS_SUP(rdma_h.IBV_PORT_VENDOR_CLASS_SUP()),
  /** Direct route notices are supported. */
  DR_NOTICE_SUP(rdma_h.IBV_PORT_DR_NOTICE_SUP()),
  /** Notices of capability changes are supported. */
  CAP_MASK_NOTICE_SUP(rdma_h.IBV_PORT_CAP_MASK_NOTICE_SUP()),
  /** Boot management is supported. */
  BOOT_MGMT_SUP(rdma_h.IBV_PORT_BOOT_MGMT_SUP()),
  /** Link round-trip latency can be measured. */
  LINK_LATENCY_SUP(rdma_h.IBV_PORT_LINK_LATENCY_SUP()),
  /** Client reregistration is supported. */
  CLIENT_REG_SUP(rdma_h.IBV_PORT_CLIENT_REG_SUP()),
  /** GIDs are derived from IP addresses. */
  IP_BASED_GIDS(rdma_h.IBV_PORT_IP_BASED_GIDS()),
  /** The node description can be set. */
  SET_NODE_DESC_SUP(second(rdma_h.IBV_PORT_SET_NODE_DESC_SUP())),
  /** Extended port information is supported. */
  INFO_EXT_SUP(second(rdma_h.IBV_PORT_INFO_EXT_SUP())),
  /** Virtual ports are supported. */
  VIRT_SUP(second(rdma_h.IBV_PORT_VIRT_SUP())),
  /** The switch has a port state table. */
  SWITCH_PORT_STATE_TABLE_SUP(second(rdma_h.IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP())),
  /** Links of two lanes are supported. */
  LINK_WIDTH_2X_SUP(second(rdma_h.IBV_PORT_LINK_WIDTH_2X_SUP())),
  /** HDR speed is supported. */
  LINK_SPEED_HDR_SUP(second(rdma_h.IBV_PORT_LINK_SPEED_HDR_SUP())),
  /** NDR speed is supported. */
  LINK_SPEED_NDR_SUP(second(rdma_h.IBV_PORT_LINK_SPEED_NDR_SUP())),
  /** XDR speed is supported. */
  LINK_SPEED_XDR_SUP(second(rdma_h.IBV_PORT_LINK_SPEED_XDR_SUP()));

  private final long bit;

  PortCapability(long bit) {
    this.bit = bit;
  }

  /** Returns a bit of the second C mask, which is the upper half of the mask here. */
  private static long second(int bit) {
    return Integer.toUnsignedLong(bit) << Integer.SIZE;
  }

  static FlagSet<PortCapability> of(int flags, short flags2) {
    return FlagSet.of(
        PortCapability.class, Integer.toUnsignedLong(flags) | second(Short.toUnsignedInt(flags2)));
  }

  @Override
  public long bit() {
    return bit;
  }
}
