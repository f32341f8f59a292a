package dev.verbena.attributes;

import dev.verbena.FlagSet;
import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_pci_atomic_caps;
import java.lang.foreign.MemorySegment;

/** The PCI atomic operation capabilities of a device: {@code struct ibv_pci_atomic_caps}. */
public final class PciAtomicCapabilities {
  private final MemorySegment struct;

  /** Keeps a struct that is not written to any more. */
  PciAtomicCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  /** {@return the supported sizes of fetch and add} */
  public FlagSet<PciAtomicSize> fetchAndAdd() {
    return sizes(ibv_pci_atomic_caps.fetch_add(struct));
  }

  /** {@return the supported sizes of swap} */
  public FlagSet<PciAtomicSize> swap() {
    return sizes(ibv_pci_atomic_caps.swap(struct));
  }

  /** {@return the supported sizes of compare and swap} */
  public FlagSet<PciAtomicSize> compareAndSwap() {
    return sizes(ibv_pci_atomic_caps.compare_swap(struct));
  }

  private static FlagSet<PciAtomicSize> sizes(short mask) {
    return FlagSet.of(PciAtomicSize.class, Short.toUnsignedLong(mask));
  }

  @Override
  public String toString() {
    return new AttributeText(PciAtomicCapabilities.class)
        .add("fetchAndAdd", fetchAndAdd())
        .add("swap", swap())
        .add("compareAndSwap", compareAndSwap())
        .toString();
  }
}
