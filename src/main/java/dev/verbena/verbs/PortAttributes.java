package dev.verbena.verbs;

import dev.verbena.raw.ibv_port_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * What a port said about itself when asked: {@code struct ibv_port_attr}. Ask again to see changes.
 */
public final class PortAttributes {
  private final MemorySegment struct;

  /** Takes a struct that nobody writes to any more. */
  PortAttributes(MemorySegment struct) {
    this.struct = struct.asReadOnly();
  }

  /**
   * Whether the port can be used.
   *
   * @return its logical state
   */
  public PortState state() {
    return Codes.of(PortState.class, ibv_port_attr.state(struct), PortState.UNKNOWN);
  }

  /**
   * Whether there is a link.
   *
   * @return its physical state
   */
  public PhysicalState physicalState() {
    return Codes.of(
        PhysicalState.class,
        Byte.toUnsignedInt(ibv_port_attr.phys_state(struct)),
        PhysicalState.UNKNOWN);
  }

  /**
   * What is below the port's packets.
   *
   * @return InfiniBand where a kernel is too old to tell, as C programs take it
   */
  public LinkLayer linkLayer() {
    return Codes.of(
        LinkLayer.class, Byte.toUnsignedInt(ibv_port_attr.link_layer(struct)), LinkLayer.UNKNOWN);
  }

  /**
   * The largest packet that the port can send.
   *
   * @return the MTU
   */
  public Mtu maxMtu() {
    return Mtu.of(ibv_port_attr.max_mtu(struct));
  }

  /**
   * The largest packet that the port is set to send.
   *
   * @return the MTU
   */
  public Mtu activeMtu() {
    return Mtu.of(ibv_port_attr.active_mtu(struct));
  }

  /**
   * The length of the GID table, empty entries included.
   *
   * @return how many GIDs the port can have
   */
  public int gidTableLength() {
    return ibv_port_attr.gid_tbl_len(struct);
  }

  /**
   * The length of the P_Key table.
   *
   * @return how many partition keys the port can have
   */
  public int pkeyTableLength() {
    return Short.toUnsignedInt(ibv_port_attr.pkey_tbl_len(struct));
  }

  /**
   * What the port can do.
   *
   * @return the known ones of its capability flags
   */
  public Set<PortCapability> capabilities() {
    return PortCapability.of(
        ibv_port_attr.port_cap_flags(struct), ibv_port_attr.port_cap_flags2(struct));
  }

  /**
   * The longest message.
   *
   * @return its size in bytes
   */
  public long maxMessageSize() {
    return Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(struct));
  }

  /**
   * How many packets came with a wrong P_Key.
   *
   * @return the counter
   */
  public long badPkeyCounter() {
    return Integer.toUnsignedLong(ibv_port_attr.bad_pkey_cntr(struct));
  }

  /**
   * How many packets came with a wrong Q_Key.
   *
   * @return the counter
   */
  public long queueKeyViolationCounter() {
    return Integer.toUnsignedLong(ibv_port_attr.qkey_viol_cntr(struct));
  }

  /**
   * The port's local identifier on InfiniBand.
   *
   * @return the LID; 0 on Ethernet
   */
  public int lid() {
    return Short.toUnsignedInt(ibv_port_attr.lid(struct));
  }

  /**
   * The subnet manager's local identifier.
   *
   * @return the LID; 0 on Ethernet
   */
  public int subnetManagerLid() {
    return Short.toUnsignedInt(ibv_port_attr.sm_lid(struct));
  }

  /**
   * How many low bits of the LID choose a path.
   *
   * @return the LID mask count
   */
  public int lidMaskCount() {
    return Byte.toUnsignedInt(ibv_port_attr.lmc(struct));
  }

  /**
   * How many virtual lanes there are.
   *
   * @return 1, 2, 4, 8 or 15; 0 if not told
   */
  public int virtualLanes() {
    int code = Byte.toUnsignedInt(ibv_port_attr.max_vl_num(struct));
    return switch (code) {
      case 1, 2, 3, 4 -> 1 << (code - 1);
      case 5 -> 15;
      default -> 0;
    };
  }

  /**
   * The service level for talking to the subnet manager.
   *
   * @return 0 to 15
   */
  public int subnetManagerServiceLevel() {
    return Byte.toUnsignedInt(ibv_port_attr.sm_sl(struct));
  }

  /**
   * How long the subnet takes at most to deliver a packet.
   *
   * @return n, for 4.096 microseconds times 2 to the power of n
   */
  public int subnetTimeout() {
    return Byte.toUnsignedInt(ibv_port_attr.subnet_timeout(struct));
  }

  /**
   * What the subnet manager initialised.
   *
   * @return the bits of InfiniBand's InitTypeReply
   */
  public int initTypeReply() {
    return Byte.toUnsignedInt(ibv_port_attr.init_type_reply(struct));
  }

  /**
   * How many lanes the link has.
   *
   * @return the width in use
   */
  public LinkWidth activeWidth() {
    return Codes.of(
        LinkWidth.class, Byte.toUnsignedInt(ibv_port_attr.active_width(struct)), LinkWidth.UNKNOWN);
  }

  /**
   * How fast each lane of the link is.
   *
   * @return the speed in use, from {@code active_speed_ex} where that is set
   */
  public LinkSpeed activeSpeed() {
    int extended = ibv_port_attr.active_speed_ex(struct);
    int speed = Byte.toUnsignedInt(ibv_port_attr.active_speed(struct));
    return Codes.of(LinkSpeed.class, extended == 0 ? speed : extended, LinkSpeed.UNKNOWN);
  }

  /**
   * Whether every address of a peer must be a GID, on InfiniBand too: {@code IBV_QPF_GRH_REQUIRED}.
   *
   * @return true if a global route is required
   */
  public boolean isGlobalRouteRequired() {
    return (ibv_port_attr.flags(struct) & rdma_h.IBV_QPF_GRH_REQUIRED()) != 0;
  }

  @Override
  public String toString() {
    return "%s, %s, %s, MTU %d of %d, %s %s, LID %d"
        .formatted(
            linkLayer().text(),
            state().text(),
            physicalState().text(),
            activeMtu().bytes(),
            maxMtu().bytes(),
            activeWidth().text(),
            activeSpeed().text(),
            lid());
  }
}
