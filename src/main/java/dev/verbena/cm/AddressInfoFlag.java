package dev.verbena.cm;

import dev.verbena.raw.rdma_h;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;

/** How a name is resolved: the {@code RAI_*} flags. */
public enum AddressInfoFlag {
  /** For listening: the name is of this machine. */
  PASSIVE(rdma_h.RAI_PASSIVE()),
  /** The name is an address in digits: no name service is asked. */
  NUMERICHOST(rdma_h.RAI_NUMERICHOST()),
  /** No route is looked for. */
  NOROUTE(rdma_h.RAI_NOROUTE()),
  /** Only addresses of the family that the hints name. */
  FAMILY(rdma_h.RAI_FAMILY()),
  /** The subnet administrator is asked for an InfiniBand service; rdma-core 60. */
  SA(rdma_h.RAI_SA()),
  /** Name services are asked, as without hints; rdma-core 60. */
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

  static Set<AddressInfoFlag> of(int mask) {
    EnumSet<AddressInfoFlag> flags = EnumSet.noneOf(AddressInfoFlag.class);
    for (AddressInfoFlag flag : values()) {
      if ((mask & flag.bit) != 0) {
        flags.add(flag);
      }
    }
    return Set.copyOf(flags);
  }
}
