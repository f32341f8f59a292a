package dev.verbena.verbs;

import dev.verbena.raw.ibv_pci_atomic_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The PCI atomic operation capabilities of a device: {@code struct ibv_pci_atomic_caps}.
 *
 * @param fetchAndAdd the supported sizes of fetch and add
 * @param swap the supported sizes of swap
 * @param compareAndSwap the supported sizes of compare and swap
 */
public record PciAtomicCapabilities(
    Set<PciAtomicSize> fetchAndAdd, Set<PciAtomicSize> swap, Set<PciAtomicSize> compareAndSwap) {

  /** Copies the sets. */
  public PciAtomicCapabilities {
    fetchAndAdd = Set.copyOf(fetchAndAdd);
    swap = Set.copyOf(swap);
    compareAndSwap = Set.copyOf(compareAndSwap);
  }

  static PciAtomicCapabilities readFrom(MemorySegment caps) {
    return new PciAtomicCapabilities(
        FlagSet.of(PciAtomicSize.class, ibv_pci_atomic_caps.fetch_add(caps)),
        FlagSet.of(PciAtomicSize.class, ibv_pci_atomic_caps.swap(caps)),
        FlagSet.of(PciAtomicSize.class, ibv_pci_atomic_caps.compare_swap(caps)));
  }
}
