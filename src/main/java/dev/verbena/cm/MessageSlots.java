package dev.verbena.cm;

import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Registered memory for a number of messages of one maximum size; each begins at an offset that is
 * a multiple of 8.
 */
final class MessageSlots {
  private final MemoryRegion region;
  private final long stride;
  private final int size;

  /** Registers the memory, which is freed when these slots are unreachable. */
  MessageSlots(Transfers transfers, int count, int size) {
    this.size = size;
    this.stride = (size + 7L) & -8L;
    this.region = transfers.registerMessages(Arena.ofAuto().allocate(stride * count, Long.BYTES));
  }

  MemoryRegion region() {
    return region;
  }

  int size() {
    return size;
  }

  /** Returns the offset of a slot in the region. */
  long offset(int slot) {
    return slot * stride;
  }

  /** Returns the first bytes of a slot. */
  MemorySegment slice(int slot, long length) {
    return region.memory().asSlice(offset(slot), length);
  }
}
