package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Segments;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * A memory region: memory that is registered with a device, which may read and write it ({@code
 * struct ibv_mr}).
 *
 * <p>There are three ways to one:
 *
 * {@snippet :
 * MemoryRegion own = pd.allocateMemory(4096, AccessFlag.LOCAL_WRITE); // frees its memory when closed
 * MemoryRegion inArena =
 *     pd.memory(segment).access(AccessFlag.LOCAL_WRITE).closedWith(arena).register();
 * MemoryRegion apart = pd.registerMemory(segment, AccessFlag.LOCAL_WRITE); // to be closed by hand
 * }
 *
 * <p>In the last case close the region before the arena of its memory: until then the device may
 * still write to the pages, and what it writes later hits memory that belongs to somebody else. A
 * request that names a region whose memory was freed throws {@link IllegalStateException}. Memory
 * that is freed when nothing refers to it, such as that of {@link Arena#ofAuto}, is kept until the
 * region is closed.
 *
 * <p>Closing it calls {@code ibv_dereg_mr}.
 */
public final class MemoryRegion extends Resource {
  private final MemorySegment struct;
  private final KeptMemory kept;
  private ProtectionDomain domain;
  private MemorySegment memory;
  private Set<AccessFlag> access;
  private boolean locallyWritable;
  private long start;
  private long length;
  private int lkey;
  private int rkey;

  /** A region that was registered here, and is deregistered here. */
  MemoryRegion(
      ProtectionDomain domain,
      long address,
      MemorySegment memory,
      long start,
      long length,
      Set<AccessFlag> access) {
    this(domain, address, (OwnMemory) null, memory, start, length, access);
  }

  /**
   * A region that was registered here, and is deregistered here.
   *
   * @param own what is freed after that; null if the memory is somebody else's
   */
  MemoryRegion(
      ProtectionDomain domain,
      long address,
      OwnMemory own,
      MemorySegment memory,
      long start,
      long length,
      Set<AccessFlag> access) {
    this(
        domain,
        address,
        () -> {
          deregister(domain.verbs(), address);
          if (own != null) {
            own.free();
          }
        },
        memory,
        start,
        length,
        access);
  }

  private MemoryRegion(
      ProtectionDomain domain,
      long address,
      Runnable release,
      MemorySegment memory,
      long start,
      long length,
      Set<AccessFlag> access) {
    this(domain, address, release, new KeptMemory(memory), memory, start, length, access);
  }

  private MemoryRegion(
      ProtectionDomain domain,
      long address,
      Runnable release,
      KeptMemory kept,
      MemorySegment memory,
      long start,
      long length,
      Set<AccessFlag> access) {
    super(
        address,
        () -> {
          release.run();
          kept.release();
        });
    this.kept = kept;
    this.struct = Memory.at(address, ibv_mr.sizeof());
    this.domain = domain;
    this.memory = memory;
    this.start = start;
    this.length = length;
    grant(access);
    readKeys();
  }

  private static void deregister(Verbs verbs, long address) {
    try {
      verbs.ibv_dereg_mr(address);
    } catch (VerbsException e) {
      throw e.errno() == Errno.EBUSY || e.errno() == Errno.EINVAL
          ? e.explained("is a memory window bound to it that MemoryWindow.bound was not told of?")
          : e;
    }
  }

  /** Whether the device may write to the region for a work request of this side. */
  boolean isLocallyWritable() {
    return locallyWritable;
  }

  /**
   * Checks that the device may write to the region for a work request of this side.
   *
   * @param request the request, for the message
   * @throws IllegalArgumentException if the region lacks LOCAL_WRITE
   */
  void requireLocallyWritable(String request) {
    if (!locallyWritable) {
      throw new IllegalArgumentException(
          request + " would write to " + this + ", which was registered without LOCAL_WRITE");
    }
  }

  /** What the memory lives as long as. */
  MemorySegment.Scope scope() {
    return memory.scope();
  }

  /**
   * Checks that the memory was not freed before the region.
   *
   * @throws IllegalStateException if its arena is closed
   */
  void requireMemory() {
    if (!memory.scope().isAlive()) {
      throw new IllegalStateException("the memory of " + this + " was freed before the region");
    }
  }

  /** Whether a range that one scatter/gather element can name lies in the region. */
  boolean holds(long offset, long size) {
    return offset >= 0 && size >>> Integer.SIZE == 0 && offset <= length - size;
  }

  private void readKeys() {
    lkey = ibv_mr.lkey(struct);
    rkey = ibv_mr.rkey(struct);
  }

  static MemoryRegion imported(
      ProtectionDomain domain, int handle, long start, Set<AccessFlag> access) {
    return make(
        List.of(domain),
        () -> {
          long address = domain.verbs().ibv_import_mr(domain.address(), handle);
          return new MemoryRegion(
              domain,
              address,
              () -> domain.verbs().ibv_unimport_mr(address),
              MemorySegment.NULL,
              start,
              ibv_mr.length(Memory.at(address, ibv_mr.sizeof())),
              access);
        });
  }

  /**
   * A region that C code registered and will deregister, such as one of librdmacm.
   *
   * @param domain the domain it belongs to
   * @param memory the registered memory
   * @param segment the {@code struct ibv_mr}
   * @param access the flags it was registered with
   * @return a region whose closing leaves the C object alone
   */
  public static MemoryRegion borrow(
      ProtectionDomain domain,
      MemorySegment memory,
      MemorySegment segment,
      Set<AccessFlag> access) {
    AccessRules.checkRegistrable(memory, access);
    long address = Segments.object(segment, "ibv_mr");
    return make(
        List.of(domain),
        () ->
            new MemoryRegion(
                domain,
                address,
                () -> {},
                memory,
                memory.address(),
                memory.byteSize(),
                Set.copyOf(access)));
  }

  /**
   * The registered memory.
   *
   * @return the segment that was registered; an empty one where the memory is not this process's
   */
  public MemorySegment memory() {
    return memory;
  }

  /**
   * What may be done to the memory besides reading it locally.
   *
   * @return the flags it was registered with
   */
  public Set<AccessFlag> access() {
    return access;
  }

  /**
   * Where the memory starts, as work requests and peers name it.
   *
   * @return the address
   */
  public long start() {
    return start;
  }

  /**
   * How long the memory is.
   *
   * @return its size in bytes
   */
  public long length() {
    return length;
  }

  /**
   * The key that local work requests name the region by.
   *
   * @return the lkey
   */
  public int lkey() {
    return lkey;
  }

  /**
   * The key that peers name the region by.
   *
   * @return the rkey
   */
  public int rkey() {
    return rkey;
  }

  /**
   * The number that another process {@linkplain ProtectionDomain#importMemoryRegion imports} the
   * region by.
   *
   * @return the kernel's handle
   */
  public int handle() {
    requireOpen();
    return ibv_mr.handle(struct);
  }

  /**
   * The domain that the region belongs to.
   *
   * @return the domain
   */
  public ProtectionDomain domain() {
    return domain;
  }

  /**
   * Gives the region other memory: {@code ibv_rereg_mr}. Nothing may use the region meanwhile.
   *
   * @param memory native memory
   */
  public void reregister(MemorySegment memory) {
    AccessRules.checkRegistrable(memory, access);
    reregister(rdma_h.IBV_REREG_MR_CHANGE_TRANSLATION(), domain, memory, Set.of());
    kept.replace(memory);
    this.memory = memory;
    this.start = access.contains(AccessFlag.ZERO_BASED) ? 0 : memory.address();
    this.length = memory.byteSize();
  }

  /**
   * Gives the region other access flags: {@code ibv_rereg_mr}. Nothing may use the region
   * meanwhile.
   *
   * @param access what may be done to the memory besides reading it locally
   */
  public void reregister(AccessFlag... access) {
    Set<AccessFlag> flags = Set.copyOf(List.of(access));
    AccessRules.check(flags);
    if (flags.contains(AccessFlag.LOCAL_WRITE) && memory.isReadOnly()) {
      throw new IllegalArgumentException("LOCAL_WRITE on a read-only segment");
    }
    reregister(rdma_h.IBV_REREG_MR_CHANGE_ACCESS(), domain, MemorySegment.NULL, flags);
    grant(flags);
  }

  private void grant(Set<AccessFlag> flags) {
    access = flags;
    locallyWritable = flags.contains(AccessFlag.LOCAL_WRITE);
  }

  /**
   * Moves the region to another domain: {@code ibv_rereg_mr}. Nothing may use the region meanwhile.
   *
   * @param domain a domain of the same context
   */
  public void reregister(ProtectionDomain domain) {
    if (domain.context() != this.domain.context()) {
      throw new IllegalArgumentException(domain + " is not of " + this.domain.context());
    }
    reregister(rdma_h.IBV_REREG_MR_CHANGE_PD(), domain, MemorySegment.NULL, Set.of());
    move(this.domain, domain);
    this.domain = domain;
  }

  /** C refuses values that are not to change: they must be empty here. */
  private void reregister(
      int change, ProtectionDomain domain, MemorySegment memory, Set<AccessFlag> access) {
    try {
      whileOpen(
          List.of(domain, this),
          () ->
              domain
                  .verbs()
                  .ibv_rereg_mr(
                      address(),
                      change,
                      domain.address(),
                      memory.address(),
                      memory.byteSize(),
                      (int) Flags.mask(access)));
    } catch (VerbsException e) {
      throw e.explained("changing " + this + ", which is still to be closed");
    }
    readKeys();
  }

  /**
   * Advises the kernel that a range of an {@linkplain AccessFlag#ON_DEMAND on-demand paging} region
   * is about to be used, and returns without waiting: {@code ibv_advise_mr}.
   *
   * @param advice the advice
   * @param offset the offset of the range in the region
   * @param size the length of the range in bytes
   * @throws IllegalStateException if the region does not use on-demand paging; some kernels do not
   *     check this, and crash
   */
  public void advise(MemoryAdvice advice, long offset, long size) {
    advise(advice, offset, size, 0);
  }

  /**
   * Advises the kernel as {@link #advise} does, and returns when the kernel has acted on it: {@code
   * ibv_advise_mr} with {@code IBV_ADVISE_MR_FLAG_FLUSH}.
   *
   * @param advice the advice
   * @param offset the offset of the range in the region
   * @param size the length of the range in bytes
   * @throws IllegalStateException if the region does not use on-demand paging
   */
  public void adviseAndWait(MemoryAdvice advice, long offset, long size) {
    advise(advice, offset, size, rdma_h.IBV_ADVISE_MR_FLAG_FLUSH());
  }

  private void advise(MemoryAdvice advice, long offset, long size, int flags) {
    if (!access.contains(AccessFlag.ON_DEMAND)) {
      throw new IllegalStateException(
          this + " is not paged on demand, so there is nothing to advise");
    }
    if (size > 0xffff_ffffL) {
      throw new IllegalArgumentException("advice on " + size + " bytes: 4294967295 are possible");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment range = ibv_sge.allocate(arena);
      ibv_sge.addr(range, addressOf(offset, size));
      ibv_sge.length(range, (int) size);
      ibv_sge.lkey(range, lkey);
      // The region keeps its domain open.
      whileOpen(
          () ->
              domain
                  .verbs()
                  .ibv_advise_mr(domain.address(), advice.code(), flags, range.address(), 1));
    } catch (VerbsException e) {
      throw e.isUnsupported()
          ? e.explained(domain.context().device() + " takes no advice on memory")
          : e.explained(
              advice
                  + " of "
                  + this
                  + (e.errno() == Errno.EINVAL || e.errno() == Errno.EPERM
                      ? ": is it paged on demand, and writable if the advice says so?"
                      : ""));
    }
  }

  /**
   * Checks a range of the region that work requests are to name, as the data path does.
   *
   * @param offset where the range starts
   * @param size its length
   * @return the address of its first byte
   * @throws IndexOutOfBoundsException if the range leaves the region
   * @throws IllegalStateException if the region, or the arena of its memory, is closed
   */
  long addressOf(long offset, long size) {
    requireOpen();
    requireMemory();
    return start + Objects.checkFromIndexSize(offset, size, length);
  }

  @Override
  public String toString() {
    return "memory region 0x" + Integer.toHexString(lkey) + " of " + domain.context().device();
  }
}
