package dev.verbena.attributes;

import dev.verbena.NativeFlag;
import dev.verbena.raw.rdma_h;

/** The size of a PCI atomic operation: {@code enum ibv_pci_atomic_op_size}. */
public enum PciAtomicSize implements NativeFlag {
  /** 4 bytes. */
  BYTES_4(rdma_h.IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP()),
  /** 8 bytes. */
  BYTES_8(rdma_h.IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP()),
  /** 16 bytes. */
  BYTES_16(rdma_h.IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP());

  private final long bit;

  PciAtomicSize(long bit) {
    this.bit = bit;
  }

  @Override
  public long bit() {
    return bit;
  }
}
