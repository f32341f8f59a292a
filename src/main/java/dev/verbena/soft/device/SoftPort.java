package dev.verbena.soft.device;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.wire.Gids;
import java.util.List;

/** A port of a software device: its GIDs and its state. */
public final class SoftPort {
  public final SoftDevice device;
  public final int number;

  /** The GID table: a link-local GID if the network has them, then one for each address. */
  public final List<Gids> gids;

  /** How many of the GIDs are in the GID table; RDMA CM knows all. */
  public final int gidTableLength;

  /** The index of the first GID that is an address. */
  public final int firstAddress;

  public final FlowTable flows = new FlowTable();

  public int state = rdma_h.IBV_PORT_ACTIVE();

  SoftPort(SoftDevice device, int number, List<Gids> gids) {
    this.device = device;
    this.number = number;
    this.gids = List.copyOf(gids);
    this.gidTableLength = device.profile.limit("gid_tbl_len", gids.size());
    this.firstAddress = device.fabric.isLinked() ? 0 : 1;
  }

  public boolean isActive() {
    return state == rdma_h.IBV_PORT_ACTIVE();
  }

  /**
   * Takes it up or down, with an event for each context of the device.
   *
   * @return false if it is so already
   */
  public boolean change(boolean up) {
    if (isActive() == up) {
      return false;
    }
    state = up ? rdma_h.IBV_PORT_ACTIVE() : rdma_h.IBV_PORT_DOWN();
    device.portEvent(up ? rdma_h.IBV_EVENT_PORT_ACTIVE() : rdma_h.IBV_EVENT_PORT_ERR(), this);
    return true;
  }

  /** Whether packets leave the port and arrive there. */
  public boolean carries() {
    return isActive() && !device.isStopped() && !device.isRemoved();
  }

  /** The MAC address, as 48 bits. */
  public long mac() {
    return 0x0200_0000_0000L | (gids.get(0).low() & 0xff_ffff_ffffL);
  }
}
