package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Memory that is to be registered, and how.
 *
 * <p>
 *
 * {@snippet :
 * MemoryRegion region =
 *     pd.memory(segment).access(LOCAL_WRITE, REMOTE_READ).start(0x1000).closedWith(arena).register();
 * }
 */
public final class MemoryRegistration {
  private static final int NO_FILE = -1;

  private final ProtectionDomain domain;
  private final MemorySegment memory;
  private final int dmaBuf;
  private final long offset;
  private final long length;
  private Set<AccessFlag> access = Set.of();
  private Long start;
  private OwnMemory own;
  private DmaHandle dmaHandle;
  private ProviderBuffer buffer;
  private boolean extended;
  private Arena arena;

  private MemoryRegistration(
      ProtectionDomain domain, MemorySegment memory, int dmaBuf, long offset, long length) {
    domain.requireOpen();
    this.domain = domain;
    this.memory = memory;
    this.dmaBuf = dmaBuf;
    this.offset = offset;
    this.length = length;
  }

  static MemoryRegistration ofMemory(ProtectionDomain domain, MemorySegment memory) {
    return new MemoryRegistration(domain, memory, NO_FILE, 0, memory.byteSize());
  }

  /** Memory that goes with its region. */
  static MemoryRegistration ofOwn(ProtectionDomain domain, OwnMemory own) {
    MemoryRegistration registration = ofMemory(domain, own.segment());
    registration.own = own;
    return registration;
  }

  /** A part of what a provider allocated. */
  static MemoryRegistration ofBuffer(ProviderBuffer buffer, MemorySegment part) {
    MemoryRegistration registration = ofMemory(buffer.domain(), part).extended();
    registration.buffer = buffer;
    return registration;
  }

  static MemoryRegistration ofDmaBuf(
      ProtectionDomain domain, int descriptor, long offset, long length) {
    if (descriptor < 0) {
      throw new IllegalArgumentException("a DMA buffer of file descriptor " + descriptor);
    }
    if (offset < 0 || length < 1) {
      throw new IllegalArgumentException(
          "a DMA buffer from " + offset + " on, of " + length + " bytes");
    }
    return new MemoryRegistration(domain, MemorySegment.NULL, descriptor, offset, length);
  }

  /**
   * Chooses what may be done to the memory besides reading it locally; by default nothing.
   *
   * @param access the flags
   * @return this
   */
  public MemoryRegistration access(AccessFlag... access) {
    return access(Set.copyOf(List.of(access)));
  }

  /**
   * Chooses what may be done to the memory besides reading it locally; by default nothing.
   *
   * @param access the flags
   * @return this
   */
  public MemoryRegistration access(Set<AccessFlag> access) {
    this.access = Set.copyOf(access);
    return this;
  }

  /**
   * Chooses the address by which local work requests and peers name the first byte: the {@code
   * iova} of {@code ibv_reg_mr_iova2}. By default that is the memory's own address, for a DMA
   * buffer the offset in it, and 0 with {@link AccessFlag#ZERO_BASED}.
   *
   * @param start any number, with the memory's own offset in its page
   * @return this
   */
  public MemoryRegistration start(long start) {
    this.start = start;
    return this;
  }

  /**
   * Lets the device use what it was told of the memory's place: {@code ibv_reg_mr_ex}.
   *
   * @param handle a handle of the same context
   * @return this
   */
  public MemoryRegistration dmaHandle(DmaHandle handle) {
    if (handle.context() != domain.context()) {
      throw new IllegalArgumentException(handle + " is not of " + domain.context());
    }
    this.dmaHandle = handle;
    return extended();
  }

  /**
   * Uses the one function that knows all kinds of memory, {@code ibv_reg_mr_ex}, whether something
   * is asked for that only that has or not. Needs rdma-core 59.
   *
   * @return this
   */
  public MemoryRegistration extended() {
    this.extended = true;
    return this;
  }

  /**
   * Closes the region together with the arena that the memory comes from: just before the memory is
   * freed, so that the device never writes to freed memory.
   *
   * @param arena the arena of the memory: confined or shared
   * @return this
   * @throws IllegalArgumentException if the memory is of another arena, or if the arena is never
   *     closed, as an automatic or the global one
   */
  public MemoryRegistration closedWith(Arena arena) {
    if (!arena.scope().equals(memory.scope())) {
      throw new IllegalArgumentException("the memory is of another arena");
    }
    if (!Memory.isClosable(arena.scope())) {
      throw new IllegalArgumentException(
          "an automatic or global arena is never closed, so neither would the region be: use"
              + " Arena.ofShared() or ProtectionDomain.allocateMemory");
    }
    this.arena = arena;
    return this;
  }

  /**
   * Registers the memory: {@code ibv_reg_mr} as its macro {@code __ibv_reg_mr} does, {@code
   * ibv_reg_mr_iova} as its macro {@code __ibv_reg_mr_iova} does, {@code ibv_reg_mr_iova2}, {@code
   * ibv_reg_dmabuf_mr} or {@code ibv_reg_mr_ex}, as the choices ask for.
   *
   * @return a region, to be closed
   * @throws IllegalArgumentException if the flags contradict each other or the memory
   * @throws VerbsException ENOMEM if the limit of locked memory is reached, for example
   */
  public MemoryRegion register() {
    AccessRules.check(access);
    if (dmaBuf == NO_FILE) {
      AccessRules.checkRegistrable(memory, access);
    }
    MemoryRegion region;
    try {
      region =
          Resource.make(
              Stream.<Resource>of(domain, dmaHandle, buffer).filter(Objects::nonNull).toList(),
              () -> new MemoryRegion(domain, call(), own, memory, startAddress(), length, access));
    } catch (VerbsException e) {
      throw AccessRules.explained(e, length, access, domain);
    }
    if (arena != null) {
      Memory.beforeFree(arena, region::close);
    }
    return region;
  }

  private long startAddress() {
    if (start != null) {
      return start;
    }
    if (access.contains(AccessFlag.ZERO_BASED)) {
      return 0;
    }
    return dmaBuf == NO_FILE ? memory.address() : offset;
  }

  private long call() {
    Verbs verbs = domain.verbs();
    int flags = (int) Flags.mask(access);
    if (extended) {
      return callExtended(flags);
    }
    if (dmaBuf != NO_FILE) {
      return verbs.ibv_reg_dmabuf_mr(
          domain.address(), offset, length, startAddress(), dmaBuf, flags);
    }
    return start == null
        ? verbs.__ibv_reg_mr(domain.address(), memory.address(), length, flags)
        : verbs.__ibv_reg_mr_iova(domain.address(), memory.address(), length, start, flags);
  }

  private long callExtended(int flags) {
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
      if (dmaBuf == NO_FILE) {
        mask |= rdma_h.IBV_REG_MR_MASK_ADDR();
        ibv_mr_init_attr.addr(attr, memory);
      } else {
        mask |= rdma_h.IBV_REG_MR_MASK_FD() | rdma_h.IBV_REG_MR_MASK_FD_OFFSET();
        ibv_mr_init_attr.fd(attr, dmaBuf);
        ibv_mr_init_attr.fd_offset(attr, offset);
      }
      if (start != null || dmaBuf != NO_FILE) {
        mask |= rdma_h.IBV_REG_MR_MASK_IOVA();
        ibv_mr_init_attr.iova(attr, startAddress());
      }
      ibv_mr_init_attr.comp_mask(attr, mask);
      return domain.verbs().ibv_reg_mr_ex(domain.address(), attr.address());
    }
  }
}
