package dev.verbena.attributes;

import dev.verbena.FlagSet;
import dev.verbena.NativeFlag;
import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_pci_atomic_caps;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.MemorySegment;

/** The PCI atomic operation capabilities of a device: {@code struct ibv_pci_atomic_caps}. */
public final class PciAtomicCapabilities {
  private final MemorySegment struct;

  /** The size of an operation: {@code enum ibv_pci_atomic_op_size}. */
  public enum Size implements NativeFlag {
    /** 4 bytes. */
    BYTES_4(rdma_h.IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP()),
    /** 8 bytes. */
    BYTES_8(rdma_h.IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP()),
    /** 16 bytes. */
    BYTES_16(rdma_h.IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP());

    private final long bit;

    Size(long bit) {
      this.bit = bit;
    }

    @Override
    public long bit() {
      return bit;
    }
  }

  /** Keeps a struct that is not written to any more. */
  PciAtomicCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  /** {@return the supported sizes of fetch and add} */
  public FlagSet<Size> fetchAndAdd() {
    return sizes(ibv_pci_atomic_caps.fetch_add(struct));
  }

  /** {@return the supported sizes of swap} */
  public FlagSet<Size> swap() {
    return sizes(ibv_pci_atomic_caps.swap(struct));
  }

  /** {@return the supported sizes of compare and swap} */
  public FlagSet<Size> compareAndSwap() {
    return sizes(ibv_pci_atomic_caps.compare_swap(struct));
  }

  private static FlagSet<Size> sizes(short mask) {
    return FlagSet.of(Size.class, Short.toUnsignedLong(mask));
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
