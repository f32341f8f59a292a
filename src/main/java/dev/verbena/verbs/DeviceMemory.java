package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Segments;
import dev.verbena.raw.ibv_alloc_dm_attr;
import dev.verbena.raw.ibv_dm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Memory on the device itself: {@code struct ibv_dm}.
 *
 * <p>Closing it calls {@code ibv_free_dm}.
 */
public final class DeviceMemory extends Resource {
  private static final int MAX_LOG = 63;

  private final Context context;
  private final long length;

  private DeviceMemory(Context context, long address, Runnable release, long length) {
    super(address, release);
    this.context = context;
    this.length = length;
  }

  static DeviceMemory allocate(Context context, long length, long alignment) {
    if (length < 1) {
      throw new IllegalArgumentException("device memory of " + length + " bytes");
    }
    if (Long.bitCount(alignment) != 1 || Long.numberOfTrailingZeros(alignment) == MAX_LOG) {
      throw new IllegalArgumentException("alignment " + alignment + " is no power of two");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_alloc_dm_attr.allocate(arena);
      ibv_alloc_dm_attr.length(attr, length);
      ibv_alloc_dm_attr.log_align_req(attr, Long.numberOfTrailingZeros(alignment));
      return make(
          List.of(context),
          () -> {
            long dm = context.verbs().ibv_alloc_dm(context.address(), attr.address());
            return new DeviceMemory(context, dm, () -> context.verbs().ibv_free_dm(dm), length);
          });
    } catch (VerbsException e) {
      if (e.isUnsupported()) {
        throw e.explained(context.device() + " has no memory of its own to give");
      }
      throw e.errno() == Errno.ENOMEM || e.errno() == Errno.EINVAL
          ? e.explained(length + " bytes: see max_dm_size of the device for how much there is")
          : e;
    }
  }

  static DeviceMemory imported(Context context, int handle, long length) {
    if (length < 1) {
      throw new IllegalArgumentException("device memory of " + length + " bytes");
    }
    return make(
        List.of(context),
        () -> {
          long dm = context.verbs().ibv_import_dm(context.address(), handle);
          return new DeviceMemory(context, dm, () -> context.verbs().ibv_unimport_dm(dm), length);
        });
  }

  /**
   * Copies into the device memory: {@code ibv_memcpy_to_dm}.
   *
   * @param offset where to begin in the device memory
   * @param source native memory to copy from, all of it
   */
  public void write(long offset, MemorySegment source) {
    Objects.checkFromIndexSize(offset, source.byteSize(), length);
    long from = Segments.readable(source, source.byteSize());
    int errno =
        whileOpen(
            () -> context.verbs().ibv_memcpy_to_dm(address(), offset, from, source.byteSize()));
    if (errno != 0) {
      throw new VerbsException("ibv_memcpy_to_dm", errno, copy(offset, source));
    }
  }

  /**
   * Copies out of the device memory: {@code ibv_memcpy_from_dm}.
   *
   * @param offset where to begin in the device memory
   * @param target native memory to copy to, all of it
   */
  public void read(long offset, MemorySegment target) {
    Objects.checkFromIndexSize(offset, target.byteSize(), length);
    long to = Segments.writable(target, target.byteSize());
    int errno =
        whileOpen(
            () -> context.verbs().ibv_memcpy_from_dm(to, address(), offset, target.byteSize()));
    if (errno != 0) {
      throw new VerbsException("ibv_memcpy_from_dm", errno, copy(offset, target));
    }
  }

  private String copy(long offset, MemorySegment host) {
    return host.byteSize() + " bytes at " + offset + " of " + this + " of " + length + " bytes";
  }

  /**
   * Registers a part of the memory: {@code ibv_reg_dm_mr}. Work requests and peers count addresses
   * from 0: {@link AccessFlag#ZERO_BASED} is added.
   *
   * @param domain a domain of the same context
   * @param offset where the part starts
   * @param size how long it is
   * @param access what may be done to it besides reading it locally
   * @return a region without host memory, to be closed
   */
  public MemoryRegion register(
      ProtectionDomain domain, long offset, long size, AccessFlag... access) {
    if (domain.context() != context) {
      throw new IllegalArgumentException(domain + " is not of " + context);
    }
    Objects.checkFromIndexSize(offset, size, length);
    Set<AccessFlag> flags = EnumSet.of(AccessFlag.ZERO_BASED, access);
    AccessRules.check(flags);
    return make(
        List.of(domain, this),
        () -> {
          long mr =
              context
                  .verbs()
                  .ibv_reg_dm_mr(
                      domain.address(), address(), offset, size, (int) Flags.mask(flags));
          return new MemoryRegion(domain, mr, MemorySegment.NULL, 0, size, Set.copyOf(flags));
        });
  }

  /**
   * Exports the memory as a DMA buffer: {@code ibv_dm_export_dmabuf_fd}. Needs rdma-core 62.
   *
   * @return a file descriptor that belongs to the caller, to be closed with {@code close(2)}
   */
  public int exportDmaBuf() {
    return whileOpen(() -> context.verbs().ibv_dm_export_dmabuf_fd(address()));
  }

  /**
   * How much memory there is.
   *
   * @return its size in bytes
   */
  public long length() {
    return length;
  }

  /**
   * The number that another process {@linkplain Context#importDeviceMemory imports} the memory by.
   *
   * @return the kernel's handle
   */
  public int handle() {
    return ibv_dm.handle(Memory.at(address(), ibv_dm.sizeof()));
  }

  /**
   * The context that the memory belongs to.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return "device memory of " + context.device();
  }
}
