package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.KeptMemory;
import dev.verbena.internal.foreign.OwnMemory;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.rules.AccessRules;
import dev.verbena.internal.time.Simulated;
import dev.verbena.internal.time.Time;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AccessFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A builder of a memory region: the memory, the access flags and the options of its registration.
 *
 * {@snippet :
 * MemoryRegion region =
 *     pd.memory(segment).access(LOCAL_WRITE, REMOTE_READ).start(0x1000).register();
 * }
 *
 * <p>See {@code ibv_reg_mr(3)}.
 */
public final class MemoryRegistration {
  private static final int NO_FILE = -1;

  private final ProtectionDomain domain;
  private final MemorySegment memory;
  private final @Nullable DmaBuf dmaBuf;
  private final long offset;
  private final long length;
  private Set<AccessFlag> access = Set.of();
  private Long start;
  private OwnMemory own;
  private DmaHandle dmaHandle;
  private Resource buffer;
  private boolean extended;

  private MemoryRegistration(
      ProtectionDomain domain,
      MemorySegment memory,
      @Nullable DmaBuf dmaBuf,
      long offset,
      long length) {
    domain.core.requireOpen();
    this.domain = domain;
    this.memory = memory;
    this.dmaBuf = dmaBuf;
    this.offset = offset;
    this.length = length;
  }

  static MemoryRegistration ofMemory(ProtectionDomain domain, MemorySegment memory) {
    return new MemoryRegistration(domain, memory, null, 0, memory.byteSize());
  }

  /** Memory that is owned by its region. */
  static MemoryRegistration ofOwn(ProtectionDomain domain, OwnMemory own) {
    MemoryRegistration registration = ofMemory(domain, own.segment());
    registration.own = own;
    return registration;
  }

  /** A part of a buffer that the provider allocated. */
  static MemoryRegistration ofBuffer(ProtectionDomain domain, Resource buffer, MemorySegment part) {
    MemoryRegistration registration = ofMemory(domain, part).extended();
    registration.buffer = buffer;
    return registration;
  }

  static MemoryRegistration ofDmaBuf(
      ProtectionDomain domain, DmaBuf dmaBuf, long offset, long length) {
    Objects.requireNonNull(dmaBuf, "buffer");
    if (offset < 0 || length < 1) {
      throw new IllegalArgumentException(
          "a DMA buffer from " + offset + " on, of " + length + " bytes");
    }
    return new MemoryRegistration(domain, MemorySegment.NULL, dmaBuf, offset, length);
  }

  /**
   * Sets the allowed operations besides local reads. The default is none.
   *
   * @param access the access flags
   * @return this
   */
  public MemoryRegistration access(AccessFlag... access) {
    return access(Set.copyOf(List.of(access)));
  }

  /**
   * Sets the allowed operations besides local reads. The default is none.
   *
   * @param access the access flags
   * @return this
   */
  public MemoryRegistration access(Set<AccessFlag> access) {
    this.access = Set.copyOf(access);
    return this;
  }

  /**
   * Sets the address by which work requests and remote peers name the first byte: the {@code iova}
   * of {@code ibv_reg_mr_iova2}. The default is the address of the memory; for a DMA buffer the
   * offset in the buffer; and 0 with {@link AccessFlag#ZERO_BASED}.
   *
   * @param start the address; its offset in a page must be that of the memory
   * @return this
   */
  public MemoryRegistration start(long start) {
    this.start = start;
    return this;
  }

  /**
   * Sets the DMA handle, which describes the placement of the memory to the device: {@code
   * ibv_reg_mr_ex}.
   *
   * @param handle a DMA handle of the same context
   * @return this
   */
  public MemoryRegistration dmaHandle(DmaHandle handle) {
    Core.requireSame(domain.context(), handle, handle.context());
    this.dmaHandle = handle;
    return extended();
  }

  /**
   * Registers the memory with {@code ibv_reg_mr_ex} even if an older function suffices. It supports
   * all kinds of memory. Requires rdma-core 59.
   *
   * @return this
   */
  public MemoryRegistration extended() {
    this.extended = true;
    return this;
  }

  /**
   * Registers the memory: {@code ibv_reg_mr} (as its macro {@code __ibv_reg_mr}), {@code
   * ibv_reg_mr_iova} (as its macro {@code __ibv_reg_mr_iova}), {@code ibv_reg_mr_iova2}, {@code
   * ibv_reg_dmabuf_mr} or {@code ibv_reg_mr_ex}, depending on the options.
   *
   * @return the region, to be closed
   * @throws IllegalArgumentException if the flags contradict each other, or do not fit the memory
   * @throws VerbsException for example ENOMEM if the limit of locked memory is reached
   */
  public MemoryRegion register() {
    AccessRules.check(access);
    Simulated simulation = Time.simulation();
    if (simulation != null && start == null && dmaBuf == null && !isZeroBased()) {
      start = simulation.address(length);
    }
    if (dmaBuf == null) {
      AccessRules.checkRegistrable(memory, access);
    }
    KeptMemory kept =
        own != null
            ? KeptMemory.of(own)
            : buffer != null ? KeptMemory.notKept(memory) : KeptMemory.of(memory);
    VerbsException failure = null;
    Object begun = FlightEvents.beginRegistration();
    try {
      return MemoryRegion.register(
          Stream.<Resource>of(domain, dmaHandle, buffer).filter(Objects::nonNull).toList(),
          domain,
          this::call,
          kept,
          startAddress(),
          length,
          access);
    } catch (VerbsException e) {
      failure = e;
      throw AccessRules.explained(e, length, access, domain.toString());
    } finally {
      FlightEvents.endRegistration(begun, domain.context().device(), length, access, failure);
    }
  }

  private boolean isZeroBased() {
    return access.contains(AccessFlag.ZERO_BASED);
  }

  private long startAddress() {
    if (start != null) {
      return start;
    }
    if (isZeroBased()) {
      return 0;
    }
    return dmaBuf == null ? memory.address() : offset;
  }

  private long call() {
    Verbs verbs = domain.verbs();
    int flags = (int) NativeFlag.mask(access);
    if (dmaBuf != null) {
      return dmaBuf.whileOpen(
          fd ->
              extended
                  ? callExtended(flags, fd)
                  : verbs.ibv_reg_dmabuf_mr(
                      domain.address(), offset, length, startAddress(), fd, flags));
    }
    if (extended) {
      return callExtended(flags, NO_FILE);
    }
    return start == null
        ? verbs.__ibv_reg_mr(domain.address(), memory.address(), length, flags)
        : verbs.__ibv_reg_mr_iova(domain.address(), memory.address(), length, start, flags);
  }

  private long callExtended(int flags, int fd) {
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment attr = ibv_mr_init_attr.allocate(scratch);
      ibv_mr_init_attr.length(attr, length);
      ibv_mr_init_attr.access(attr, flags);
      int mask = 0;
      if (dmaHandle != null) {
        mask |= rdma_h.IBV_REG_MR_MASK_DMAH();
        ibv_mr_init_attr.dmah(attr, dmaHandle.segment());
      }
      if (buffer != null) {
        mask |= rdma_h.IBV_REG_MR_MASK_BUF();
        ibv_mr_init_attr.buf(attr, buffer.segment());
      }
      if (dmaBuf == null) {
        mask |= rdma_h.IBV_REG_MR_MASK_ADDR();
        ibv_mr_init_attr.addr(attr, memory);
      } else {
        mask |= rdma_h.IBV_REG_MR_MASK_FD() | rdma_h.IBV_REG_MR_MASK_FD_OFFSET();
        ibv_mr_init_attr.fd(attr, fd);
        ibv_mr_init_attr.fd_offset(attr, offset);
      }
      if (start != null || dmaBuf != null) {
        mask |= rdma_h.IBV_REG_MR_MASK_IOVA();
        ibv_mr_init_attr.iova(attr, startAddress());
      }
      ibv_mr_init_attr.comp_mask(attr, mask);
      return domain.verbs().ibv_reg_mr_ex(domain.address(), attr.address());
    }
  }
}
