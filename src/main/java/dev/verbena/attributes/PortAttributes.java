package dev.verbena.attributes;

import dev.verbena.FlagSet;
import dev.verbena.address.Mtu;
import dev.verbena.internal.AttributeText;
import dev.verbena.internal.Codes;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_port_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.Port;
import java.lang.foreign.MemorySegment;

/**
 * The attributes of a port, as returned by {@link Port#attributes}: {@code struct ibv_port_attr}.
 * They do not change; query the port again for new values.
 */
public final class PortAttributes {
  private final MemorySegment struct;

  /**
   * Creates the attributes from a C struct. Keeps the segment.
   *
   * @param struct a {@code struct ibv_port_attr}, which is not written to any more
   */
  public PortAttributes(MemorySegment struct) {
    Segments.readable(struct, ibv_port_attr.layout());
    this.struct = struct.asReadOnly();
  }

  /** {@return the logical state} */
  public PortState state() {
    return Codes.of(PortState.class, ibv_port_attr.state(struct), PortState.UNKNOWN);
  }

  /** {@return the physical state} */
  public PhysicalState physicalState() {
    return Codes.of(
        PhysicalState.class,
        Byte.toUnsignedInt(ibv_port_attr.phys_state(struct)),
        PhysicalState.UNKNOWN);
  }

  /** {@return the link layer; {@code UNSPECIFIED} if the kernel does not report it} */
  public LinkLayer linkLayer() {
    return Codes.of(
        LinkLayer.class, Byte.toUnsignedInt(ibv_port_attr.link_layer(struct)), LinkLayer.UNKNOWN);
  }

  /** {@return the maximum MTU} */
  public Mtu maxMtu() {
    return Mtu.of(ibv_port_attr.max_mtu(struct));
  }

  /** {@return the active MTU} */
  public Mtu activeMtu() {
    return Mtu.of(ibv_port_attr.active_mtu(struct));
  }

  /** {@return the length of the GID table, including empty entries} */
  public int gidTableLength() {
    return ibv_port_attr.gid_tbl_len(struct);
  }

  /** {@return the number of entries of the P_Key table} */
  public int pkeyTableLength() {
    return Short.toUnsignedInt(ibv_port_attr.pkey_tbl_len(struct));
  }

  /**
   * {@return the capability flags; the second mask of C is the upper half of {@link FlagSet#mask}}
   */
  public FlagSet<PortCapability> capabilities() {
    return PortCapability.of(
        ibv_port_attr.port_cap_flags(struct), ibv_port_attr.port_cap_flags2(struct));
  }

  /** {@return the maximum message size in bytes} */
  public long maxMessageSize() {
    return Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(struct));
  }

  /** {@return the counter of packets with an invalid P_Key} */
  public long badPkeyCounter() {
    return Integer.toUnsignedLong(ibv_port_attr.bad_pkey_cntr(struct));
  }

  /** {@return the counter of packets with an invalid Q_Key} */
  public long queueKeyViolationCounter() {
    return Integer.toUnsignedLong(ibv_port_attr.qkey_viol_cntr(struct));
  }

  /** {@return the local identifier (LID) of the port; 0 on Ethernet} */
  public int lid() {
    return Short.toUnsignedInt(ibv_port_attr.lid(struct));
  }

  /** {@return the LID of the subnet manager; 0 on Ethernet} */
  public int subnetManagerLid() {
    return Short.toUnsignedInt(ibv_port_attr.sm_lid(struct));
  }

  /** {@return the LID mask count (LMC): the number of low bits of the LID that select a path} */
  public int lidMaskCount() {
    return Byte.toUnsignedInt(ibv_port_attr.lmc(struct));
  }

  /** {@return the number of virtual lanes, 1, 2, 4, 8 or 15; 0 if it is not reported} */
  public int virtualLanes() {
    int code = Byte.toUnsignedInt(ibv_port_attr.max_vl_num(struct));
    return switch (code) {
      case 1, 2, 3, 4 -> 1 << (code - 1);
      case 5 -> 15;
      default -> 0;
    };
  }

  /** {@return the service level of packets to the subnet manager, 0 to 15} */
  public int subnetManagerServiceLevel() {
    return Byte.toUnsignedInt(ibv_port_attr.sm_sl(struct));
  }

  /**
   * {@return the subnet timeout, the maximum time in which the subnet delivers a packet: n, for
   * 4.096 microseconds times 2 to the power of n}
   */
  public int subnetTimeout() {
    return Byte.toUnsignedInt(ibv_port_attr.subnet_timeout(struct));
  }

  /**
   * {@return the type of initialization that the subnet manager performed: the bits of
   * InitTypeReply}
   */
  public int initTypeReply() {
    return Byte.toUnsignedInt(ibv_port_attr.init_type_reply(struct));
  }

  /** {@return the active link width} */
  public LinkWidth activeWidth() {
    return Codes.of(
        LinkWidth.class, Byte.toUnsignedInt(ibv_port_attr.active_width(struct)), LinkWidth.UNKNOWN);
  }

  /** {@return the active link speed of each lane, from {@code active_speed_ex} if it is set} */
  public LinkSpeed activeSpeed() {
    int extended = ibv_port_attr.active_speed_ex(struct);
    int speed = Byte.toUnsignedInt(ibv_port_attr.active_speed(struct));
    return Codes.of(LinkSpeed.class, extended == 0 ? speed : extended, LinkSpeed.UNKNOWN);
  }

  /**
   * {@return whether packets require a global routing header (GRH), also on InfiniBand: {@code
   * IBV_QPF_GRH_REQUIRED}}
   */
  public boolean isGlobalRouteRequired() {
    return (ibv_port_attr.flags(struct) & rdma_h.IBV_QPF_GRH_REQUIRED()) != 0;
  }

  @Override
  public String toString() {
    return new AttributeText(PortAttributes.class)
        .add("state", state())
        .add("physicalState", physicalState())
        .add("linkLayer", linkLayer())
        .add("maxMtu", maxMtu())
        .add("activeMtu", activeMtu())
        .add("gidTableLength", gidTableLength())
        .add("pkeyTableLength", pkeyTableLength())
        .add("capabilities", capabilities())
        .add("maxMessageSize", maxMessageSize())
        .add("badPkeyCounter", badPkeyCounter())
        .add("queueKeyViolationCounter", queueKeyViolationCounter())
        .add("lid", lid())
        .add("subnetManagerLid", subnetManagerLid())
        .add("lidMaskCount", lidMaskCount())
        .add("virtualLanes", virtualLanes())
        .add("subnetManagerServiceLevel", subnetManagerServiceLevel())
        .add("subnetTimeout", subnetTimeout())
        .add("initTypeReply", initTypeReply())
        .add("activeWidth", activeWidth())
        .add("activeSpeed", activeSpeed())
        .add("isGlobalRouteRequired", isGlobalRouteRequired())
        .toString();
  }
}
