package dev.verbena.soft.cm;

import dev.verbena.soft.wire.Gids;
import java.net.InetSocketAddress;

/** A multicast group that an identifier has joined. */
public final class CmMembership {
  public final InetSocketAddress address;
  final Gids group;
  final int flags;
  public final long context;

  /** How many events of the group were acknowledged; guarded by the identifier. */
  int acknowledged;

  /** How many events of the group were taken; guarded by the network's lock. */
  public int taken;

  public CmMembership(InetSocketAddress address, int flags, long context) {
    this.address = address;
    this.group = Gids.of(address.getAddress());
    this.flags = flags;
    this.context = context;
  }
}
