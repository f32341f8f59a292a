package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_alloc_dm_attr;
import dev.verbena.raw.ibv_dm;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftBuffer;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Device memory, and buffers that the provider allocates. */
final class BufferFunctions {
  private static final long PAGE = 4096;

  private static MemorySegment allocate(long length, long alignment) {
    try {
      return Arena.ofAuto().allocate(length, alignment);
    } catch (OutOfMemoryError | IllegalArgumentException e) {
      throw CallFailure.of(Errno.ENOMEM, length + " bytes");
    }
  }

  // Device memory

  public long alloc_dm(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    CStruct attr = CStruct.at(attributes, ibv_alloc_dm_attr.layout());
    long length = attr.getLong("length");
    int alignment = attr.getInt("log_align_req");
    CallFailure.invalidIf(
        length < 1 || length > SoftDevice.MAX_DEVICE_MEMORY || alignment < 0 || alignment > 16,
        "1 to " + SoftDevice.MAX_DEVICE_MEMORY + " bytes, not " + length);
    MemorySegment memory = allocate(length, 1L << alignment);
    return Registry.create(
        owner.device,
        () -> {
          if (length > owner.device.freeDeviceMemory) {
            throw CallFailure.of(Errno.ENOMEM, "device memory is used up");
          }
          owner.device.freeDeviceMemory -= length;
          CStruct struct =
              owner
                  .struct(ibv_dm.layout())
                  .putLong("memcpy_to_dm", Pointers.to("memcpy_to_dm").address())
                  .putLong("memcpy_from_dm", Pointers.to("memcpy_from_dm").address())
                  .putInt("comp_mask", rdma_h.IBV_DM_MASK_HANDLE());
          return new SoftBuffer(owner, struct, memory);
        });
  }

  public int free_dm(long address) {
    Registry.destroy(address, SoftBuffer.class);
    return 0;
  }

  public int memcpy_to_dm(long address, long offset, long host, long length) {
    SoftBuffer buffer = Registry.at(address, SoftBuffer.class);
    if (!buffer.covers(offset, length)) {
      return Errno.EINVAL;
    }
    Memory.copy(host, buffer.memory.address() + offset, length);
    return 0;
  }

  public int memcpy_from_dm(long host, long address, long offset, long length) {
    SoftBuffer buffer = Registry.at(address, SoftBuffer.class);
    if (!buffer.covers(offset, length)) {
      return Errno.EINVAL;
    }
    Memory.copy(buffer.memory.address() + offset, host, length);
    return 0;
  }

  /** Addresses of the region are offsets. */
  public long reg_dm_mr(long pd, long dm, long offset, long length, int access) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    SoftBuffer buffer = Registry.at(dm, SoftBuffer.class);
    CallFailure.invalidIf(
        !buffer.covers(offset, length) || (access & rdma_h.IBV_ACCESS_ZERO_BASED()) == 0,
        "outside the memory, or without IBV_ACCESS_ZERO_BASED");
    return domain.device.engine.locked(
        () ->
            MemoryFunctions.add(domain, buffer.memory.address() + offset, length, 0, access, buffer)
                .address());
  }

  // Buffers

  public long ibv_alloc_buf(long pd, long size, long buffer) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    CallFailure.invalidIf(size < 1, size + " bytes");
    MemorySegment memory = allocate(size, PAGE);
    return domain.device.engine.locked(
        () -> {
          CStruct struct = domain.context.struct(ibv_dm.layout());
          Memory.putLong(buffer, Registry.add(new SoftBuffer(domain, struct, memory)).address());
          return memory.address();
        });
  }

  public void ibv_free_buf(long address) {
    Registry.destroy(address, SoftBuffer.class);
  }

  public long ibv_reg_buf_mr(long pd, long buffer, long address, long length, int access) {
    return register(pd, buffer, address, length, zeroBased(access) ? 0 : address, access);
  }

  static boolean zeroBased(int access) {
    return (access & rdma_h.IBV_ACCESS_ZERO_BASED()) != 0;
  }

  static long register(long pd, long buf, long address, long length, long start, int access) {
    SoftDomain domain = Registry.at(pd, SoftDomain.class);
    SoftBuffer buffer = Registry.at(buf, SoftBuffer.class);
    if (!buffer.covers(address - buffer.memory.address(), length)
        || !(buffer.owner instanceof SoftDomain owner)
        || owner.root() != domain.root()) {
      throw CallFailure.invalid("outside the buffer, or not of its protection domain");
    }
    return domain.device.engine.locked(
        () -> MemoryFunctions.add(domain, address, length, start, access, buffer).address());
  }

  @SuppressWarnings("DoNotCallSuggester") // It is called like every function of the table.
  public int ibv_export_buf_dmabuf_fd(long address) {
    SoftBuffer _ = Registry.at(address, SoftBuffer.class);
    throw CallFailure.of(Errno.ENODATA, "the buffer is ordinary memory");
  }
}
