package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.KeptMemory;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.internal.rules.AccessRules;
import dev.verbena.raw.ibv_alloc_dm_attr;
import dev.verbena.raw.ibv_dm;
import dev.verbena.values.AccessFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Memory on the device: {@code struct ibv_dm}.
 *
 * {@snippet :
 * DeviceMemory memory = DeviceMemory.allocate(context, 4096);
 * MemoryRegion region = memory.register(pd, 0, 4096, AccessFlag.REMOTE_ATOMIC);
 * }
 *
 * <p>Several threads may use it. Closing it first closes its memory regions, then calls {@code
 * ibv_free_dm}. See {@code ibv_alloc_dm(3)}.
 */
public final class DeviceMemory extends Resource {
  private static final int MAX_LOG = 63;

  private final Context context;
  private final int handle;
  private final long length;

  private DeviceMemory(Context context, Core core, long length) {
    super(core);
    this.handle = Memory.getInt(core.address() + ibv_dm.handle$offset());
    this.context = context;
    this.length = length;
  }

  /**
   * Allocates memory on the device: {@code ibv_alloc_dm}.
   *
   * @param context the context of the device
   * @param length the size in bytes
   * @return the memory, to be closed
   */
  public static DeviceMemory allocate(Context context, long length) {
    return allocate(context, length, 1);
  }

  /**
   * Allocates aligned memory on the device: {@code ibv_alloc_dm}.
   *
   * @param context the context of the device
   * @param length the size in bytes
   * @param alignment the alignment of the address in bytes, for example 8 for atomic operations
   * @return the memory, to be closed
   */
  public static DeviceMemory allocate(Context context, long length, long alignment) {
    var _ = Ranges.positive(length, "length");
    if (Long.bitCount(alignment) != 1 || Long.numberOfTrailingZeros(alignment) == MAX_LOG) {
      throw new IllegalArgumentException("alignment must be a power of two: " + alignment);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_alloc_dm_attr.allocate(arena);
      ibv_alloc_dm_attr.length(attr, length);
      ibv_alloc_dm_attr.log_align_req(attr, Long.numberOfTrailingZeros(alignment));
      return Core.make(
          List.of(context),
          () -> context.verbs().ibv_alloc_dm(context.address(), attr.address()),
          context.verbs()::ibv_free_dm,
          core -> new DeviceMemory(context, core, length));
    } catch (VerbsException e) {
      if (e.isUnsupported()) {
        throw Explanation.add(e, context.device() + " has no device memory");
      }
      throw e.errno() == Errno.ENOMEM || e.errno() == Errno.EINVAL
          ? Explanation.add(
              e,
              "%d bytes, aligned to %d: the maximum is DeviceAttributes.maxDeviceMemory() (max_dm_size), and the device may not support the alignment"
                  .formatted(length, alignment))
          : e;
    }
  }

  /**
   * Imports device memory of another process: {@code ibv_import_dm}. The context must be
   * {@linkplain Device#importContext imported} from that process.
   *
   * @param context the imported context
   * @param handle the value of {@link DeviceMemory#handle} in that process
   * @param length the value of {@link DeviceMemory#length} in that process
   * @return the memory; closing it ({@code ibv_unimport_dm}) does not free the memory of the other
   *     process
   */
  public static DeviceMemory importFrom(Context context, int handle, long length) {
    var _ = Ranges.positive(length, "length");
    return Core.make(
        List.of(context),
        () -> context.verbs().ibv_import_dm(context.address(), handle),
        context.verbs()::ibv_unimport_dm,
        core -> new DeviceMemory(context, core, length));
  }

  /**
   * Copies host memory to the device memory: {@code ibv_memcpy_to_dm}.
   *
   * @param offset the offset in the device memory, in bytes; with libmlx5 it and the size are
   *     multiples of 4
   * @param source native memory, which is copied as a whole
   */
  public void write(long offset, MemorySegment source) {
    long _ = Ranges.within(this, offset, source.byteSize(), length);
    long from = Segments.readable(source, source.byteSize());
    if (source.byteSize() == 0) { // It may be NULL, which C does not take.
      core.requireOpen();
      return;
    }
    int errno =
        core.whileOpen(
            () -> context.verbs().ibv_memcpy_to_dm(address(), offset, from, source.byteSize()));
    if (errno != 0) {
      throw copyFailure("ibv_memcpy_to_dm", errno, offset, source);
    }
  }

  /**
   * Copies device memory to host memory: {@code ibv_memcpy_from_dm}.
   *
   * @param offset the offset in the device memory, in bytes; with libmlx5 it and the size are
   *     multiples of 4
   * @param target native memory, which is filled as a whole
   */
  public void read(long offset, MemorySegment target) {
    long _ = Ranges.within(this, offset, target.byteSize(), length);
    long to = Segments.writable(target, target.byteSize());
    if (target.byteSize() == 0) { // It may be NULL, which C does not take.
      core.requireOpen();
      return;
    }
    int errno =
        core.whileOpen(
            () -> context.verbs().ibv_memcpy_from_dm(to, address(), offset, target.byteSize()));
    if (errno != 0) {
      throw copyFailure("ibv_memcpy_from_dm", errno, offset, target);
    }
  }

  private VerbsException copyFailure(String function, int errno, long offset, MemorySegment host) {
    String what = host.byteSize() + " bytes at " + offset + " of " + this;
    return new VerbsException(
        function,
        errno,
        errno == Errno.EINVAL ? what + "; libmlx5 copies multiples of 4 bytes only" : what);
  }

  /**
   * Registers a range of the device memory: {@code ibv_reg_dm_mr}. Work requests and remote sides
   * use addresses from 0 on: {@link AccessFlag#ZERO_BASED} is added.
   *
   * @param domain a protection domain of the same context
   * @param offset the offset of the range in bytes
   * @param size the size of the range in bytes
   * @param access the allowed operations besides local reads
   * @return a region without host memory, to be closed
   */
  public MemoryRegion register(
      ProtectionDomain domain, long offset, long size, AccessFlag... access) {
    Core.requireSame(context, domain, domain.context());
    long _ = Ranges.within(this, offset, size, length);
    Set<AccessFlag> flags = EnumSet.of(AccessFlag.ZERO_BASED, access);
    AccessRules.check(flags);
    return MemoryRegion.register(
        List.of(domain, this),
        domain,
        () ->
            context
                .verbs()
                .ibv_reg_dm_mr(
                    domain.address(), address(), offset, size, (int) NativeFlag.mask(flags)),
        KeptMemory.none(),
        0,
        size,
        Set.copyOf(flags));
  }

  /**
   * Exports the memory as a DMA buffer: {@code ibv_dm_export_dmabuf_fd}. Requires rdma-core 62.
   *
   * @return the DMA buffer, to be closed
   */
  public DmaBuf exportDmaBuf() {
    return DmaBuf.of(core.whileOpen(() -> context.verbs().ibv_dm_export_dmabuf_fd(address())));
  }

  /**
   * Returns the length of the memory.
   *
   * @return the length in bytes
   */
  public long length() {
    return length;
  }

  /**
   * {@return the kernel's handle of the memory, by which another process {@linkplain #importFrom
   * imports} it}
   */
  public int handle() {
    return ibv_dm.handle(Memory.at(address(), ibv_dm.sizeof()));
  }

  /** {@return the context of the memory} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(
        core, "device memory " + handle + " of " + context.device(), length + " bytes");
  }
}
