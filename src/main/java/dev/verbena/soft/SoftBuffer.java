package dev.verbena.soft;

import java.lang.foreign.MemorySegment;

/** Memory that the device allocated: device memory, or a buffer of {@code ibv_alloc_buf}. */
final class SoftBuffer extends SoftObject {
  final SoftObject owner;
  final MemorySegment memory;

  SoftBuffer(SoftObject owner, CStruct struct, MemorySegment memory) {
    super(owner.device, struct);
    this.owner = owner;
    this.memory = memory;
  }

  /** Whether a range lies within it. */
  boolean covers(long offset, long length) {
    return offset >= 0 && length >= 0 && length <= memory.byteSize() - offset;
  }

  @Override
  String kind() {
    return "device memory";
  }
}
