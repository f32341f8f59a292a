package dev.verbena.soft.device;

import java.lang.foreign.MemorySegment;

/** Memory that the device allocated: device memory, or a buffer of {@code ibv_alloc_buf}. */
public final class SoftBuffer extends SoftObject {
  public final SoftObject owner;
  public final MemorySegment memory;

  public SoftBuffer(SoftObject owner, CStruct struct, MemorySegment memory) {
    super(owner.context, struct, owner);
    this.owner = owner;
    this.memory = memory;
  }

  /** Whether a range lies within it. */
  public boolean covers(long offset, long length) {
    return offset >= 0 && length >= 0 && length <= memory.byteSize() - offset;
  }

  @Override
  protected void end() {
    if (owner instanceof SoftContext) {
      device.freeDeviceMemory += memory.byteSize();
    }
  }

  @Override
  public String kind() {
    return "device memory";
  }
}
