package dev.verbena.cm;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;
import java.util.Collection;

/** Flags of address resolution: {@code RAI_*}. */
public enum AddressInfoFlag implements NativeFlag {
  /** The address is for listening: the name is one of this host. */
  PASSIVE(rdma_h.RAI_PASSIVE()),
  /** The name is a numeric address: no name resolution. */
  NUMERICHOST(rdma_h.RAI_NUMERICHOST()),
  /** No route resolution. */
  NOROUTE(rdma_h.RAI_NOROUTE()),
  /** Only addresses of the family in the hints. */
  FAMILY(rdma_h.RAI_FAMILY()),
  /** Resolution of an InfiniBand service by the subnet administrator; rdma-core 60. */
  SA(rdma_h.RAI_SA()),
  /** Resolution by name servers, as without hints; rdma-core 60. */
  DNS(rdma_h.RAI_DNS());

  private final int bit;

  AddressInfoFlag(int bit) {
    this.bit = bit;
  }

  static int mask(Collection<AddressInfoFlag> flags) {
    int mask = 0;
    for (AddressInfoFlag flag : flags) {
      mask |= flag.bit;
    }
    return mask;
  }

  /** {@return the bit of the flag in C, a mask with one bit} */
  @Override
  public long bit() {
    return bit;
  }
}
