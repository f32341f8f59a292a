package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.ReregistrationFailure;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.KeptMemory;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.internal.rules.AccessRules;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryAdvice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A memory region: memory that is registered with a device ({@code struct ibv_mr}).
 *
 * <p>There are two ways to create one:
 *
 * {@snippet :
 * MemoryRegion owned = pd.allocateMemory(4096, AccessFlag.LOCAL_WRITE); // owns its memory
 * MemoryRegion ofArena = pd.registerMemory(segment, AccessFlag.LOCAL_WRITE);
 * }
 *
 * <p><b>Memory.</b> The device may write to the memory until the region is closed, so it is not
 * freed before: closing an arena first closes the regions of its memory. If one cannot be closed,
 * {@link Arena#close} throws an {@link Error} with the cause, and the memory stays allocated.
 * Memory that the garbage collector frees, such as that of {@link Arena#ofAuto}, is kept until the
 * region is closed. The program itself must keep two kinds of memory until the region is closed:
 * that of a confined arena, which frees its first allocation a moment before it closes the region,
 * and memory that C code frees.
 *
 * <p>Work requests name the region by its {@linkplain #lkey local key}, remote peers by its
 * {@linkplain #rkey remote key}. A region may be used by several threads; a {@linkplain #reregister
 * change} requires that nothing uses it. Closing it calls {@code ibv_dereg_mr}. See {@code
 * ibv_reg_mr(3)}.
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
  private boolean unusable;

  private MemoryRegion(
      ProtectionDomain domain,
      Core core,
      KeptMemory kept,
      long start,
      long length,
      Set<AccessFlag> access) {
    super(core);
    this.kept = kept;
    core.wrapDestruction(
        deregister -> {
          deregister.run();
          kept.release();
        });
    this.struct = Memory.at(core.address(), ibv_mr.sizeof());
    this.domain = domain;
    this.memory = kept.segment();
    this.start = start;
    this.length = length;
    grant(access);
    readKeys();
    tellMemory();
  }

  /**
   * Creates a region that is deregistered by {@code ibv_dereg_mr}.
   *
   * @param registration registers it and returns the C object
   * @param kept its memory, which is released with it, or now if the registration fails
   */
  static MemoryRegion register(
      List<? extends Resource> parents,
      ProtectionDomain domain,
      LongSupplier registration,
      KeptMemory kept,
      long start,
      long length,
      Set<AccessFlag> access) {
    return keeping(
        kept,
        () ->
            Core.make(
                parents,
                registration,
                mr -> deregister(domain.verbs(), mr),
                core -> new MemoryRegion(domain, core, kept, start, length, access)));
  }

  private static MemoryRegion keeping(KeptMemory kept, Supplier<MemoryRegion> maker) {
    try {
      MemoryRegion region = maker.get();
      region.closeWithArena();
      return region;
    } catch (Throwable t) {
      kept.release();
      throw t;
    }
  }

  private void closeWithArena() {
    if (!kept.usedBy(this)) {
      close();
      throw new IllegalStateException(
          "the arena of the memory was closed while the memory was being registered");
    }
  }

  private void tellMemory() {
    domain.context().provider().memoryOf(address(), memory);
  }

  private static void deregister(Verbs verbs, long address) {
    try {
      verbs.ibv_dereg_mr(address);
    } catch (VerbsException e) {
      throw e.errno() == Errno.EBUSY || e.errno() == Errno.EINVAL
          ? Explanation.add(
              e, "a memory window may be bound to it; call MemoryWindow.bound after each binding")
          : e;
    }
  }

  /** Returns whether local work requests may write to the region. */
  boolean isLocallyWritable() {
    return locallyWritable;
  }

  /**
   * Checks that local work requests may write to the region.
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

  /**
   * Checks that the memory was not freed, as a confined arena does before it closes the region.
   *
   * @throws IllegalStateException if its arena is closed, or a change of the region failed
   */
  void requireMemory() {
    requireUsable();
    if (!memory.scope().isAlive()) {
      throw new IllegalStateException("the arena of the memory of " + this + " is closed");
    }
  }

  /** Returns whether {@link #requireMemory} throws no exception. */
  boolean isUsable() {
    return isOpen() && !unusable && memory.scope().isAlive();
  }

  private void requireUsable() {
    core.requireOpen();
    if (unusable) {
      throw new IllegalStateException(
          this + " cannot be used, since ibv_rereg_mr failed; it must be closed");
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
    return Core.make(
        List.of(domain),
        () -> domain.verbs().ibv_import_mr(domain.address(), handle),
        domain.verbs()::ibv_unimport_mr,
        core ->
            new MemoryRegion(
                domain,
                core,
                KeptMemory.none(),
                start,
                ibv_mr.length(Memory.at(core.address(), ibv_mr.sizeof())),
                access));
  }

  /**
   * {@return a region that C code registered and deregisters, for example librdmacm; closing it
   * does not deregister the C object}
   *
   * @param domain the protection domain of the region
   * @param memory the registered memory
   * @param segment the {@code struct ibv_mr}
   * @param access the access flags of the region
   * @throws IllegalArgumentException if the segment is shorter than the struct: with native access,
   *     {@link MemorySegment#reinterpret(long)} makes a pointer long enough
   */
  public static MemoryRegion borrow(
      ProtectionDomain domain,
      MemorySegment memory,
      MemorySegment segment,
      Set<AccessFlag> access) {
    AccessRules.checkRegistrable(memory, access);
    long address = Segments.struct(segment, "ibv_mr", ibv_mr.sizeof());
    KeptMemory kept = KeptMemory.of(memory);
    return keeping(
        kept,
        () ->
            Core.borrow(
                List.of(domain),
                address,
                core ->
                    new MemoryRegion(
                        domain,
                        core,
                        kept,
                        memory.address(),
                        memory.byteSize(),
                        Set.copyOf(access))));
  }

  /**
   * Returns the registered memory.
   *
   * @return the segment that was registered; an empty segment if the memory is not of this process
   * @throws IllegalStateException if the region is closed
   */
  public MemorySegment memory() {
    core.requireOpen();
    return memory;
  }

  /**
   * Returns the allowed operations besides local reads.
   *
   * @return the access flags of the region
   */
  public Set<AccessFlag> access() {
    return access;
  }

  /** {@return the address by which work requests name the first byte of the region} */
  public long start() {
    return start;
  }

  /**
   * Returns the length of the region.
   *
   * @return the length in bytes
   */
  public long length() {
    return length;
  }

  /**
   * Returns the local key, by which local work requests name the region.
   *
   * @return the lkey
   */
  public int lkey() {
    return lkey;
  }

  /**
   * Returns the remote key, by which remote peers name the region.
   *
   * @return the rkey
   */
  public int rkey() {
    return rkey;
  }

  /**
   * Returns the kernel's handle of the region, by which another process {@linkplain
   * ProtectionDomain#importMemoryRegion imports} it.
   *
   * @return the handle
   */
  public int handle() {
    core.requireOpen();
    return ibv_mr.handle(struct);
  }

  /** {@return the protection domain of the region} */
  public ProtectionDomain domain() {
    return domain;
  }

  /**
   * {@return a builder of a change of the region: {@code ibv_rereg_mr}}
   *
   * @throws IllegalStateException if the region is closed, or an earlier change failed
   */
  public Reregistration reregister() {
    requireUsable();
    return new Reregistration(this);
  }

  /** Changes what is not null. */
  void reregister(
      @Nullable MemorySegment newMemory,
      @Nullable ProtectionDomain newDomain,
      @Nullable Set<AccessFlag> newAccess) {
    requireUsable();
    KeptMemory replacement =
        newMemory == null || kept.owns(newMemory) ? KeptMemory.none() : KeptMemory.of(newMemory);
    try {
      // Before the call: the peer may write to the new memory, with keys that it has, at once.
      if (!replacement.usedBy(this)) {
        throw new IllegalStateException("the arena of the new memory of " + this + " is closed");
      }
      ProtectionDomain next = newDomain == null ? domain : newDomain;
      Core.whileOpen(
          List.of(next, this),
          () -> {
            try {
              callReregister(newMemory, newDomain, newAccess);
            } catch (RuntimeException e) {
              throw failed(e, newMemory, next, newAccess, replacement);
            }
            changed(newMemory, next, newAccess, replacement);
          });
    } finally {
      replacement.release(); // Unless the region has it.
      Core.revalidateAll();
    }
  }

  /** Values that do not change are null or empty: otherwise the call fails with EINVAL. */
  private void callReregister(
      @Nullable MemorySegment newMemory,
      @Nullable ProtectionDomain newDomain,
      @Nullable Set<AccessFlag> newAccess) {
    int flags =
        (newMemory == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_TRANSLATION())
            | (newDomain == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_PD())
            | (newAccess == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_ACCESS());
    MemorySegment range = newMemory == null ? MemorySegment.NULL : newMemory;
    domain
        .verbs()
        .ibv_rereg_mr(
            address(),
            flags,
            (newDomain == null ? domain : newDomain).address(),
            range.address(),
            range.byteSize(),
            newAccess == null ? 0 : (int) NativeFlag.mask(newAccess));
  }

  private RuntimeException failed(
      RuntimeException thrown,
      @Nullable MemorySegment newMemory,
      ProtectionDomain next,
      @Nullable Set<AccessFlag> newAccess,
      KeptMemory replacement) {
    String outcome = "cannot change ";
    switch (ReregistrationFailure.region(thrown)) {
      case UNCHANGED -> {}
      case CHANGED -> {
        changed(newMemory, next, newAccess, replacement);
        outcome = "changed ";
      }
      case UNUSABLE -> {
        unusable = true;
        kept.add(replacement);
      }
    }
    RuntimeException failure = ReregistrationFailure.unwrap(thrown);
    return failure instanceof VerbsException e
        ? Explanation.add(e, outcome + this + "; it must still be closed")
        : failure;
  }

  private void changed(
      @Nullable MemorySegment newMemory,
      ProtectionDomain next,
      @Nullable Set<AccessFlag> newAccess,
      KeptMemory replacement) {
    if (!next.equals(domain)) {
      core.replaceParent(domain, next); // During the call, after which either may be closed.
      domain = next;
    }
    if (newAccess != null) {
      grant(newAccess);
    }
    if (newMemory != null) {
      if (!kept.owns(newMemory)) {
        kept.replace(replacement);
      }
      memory = newMemory;
      start = newMemory.address(); // Providers pass it to the kernel, whatever the flags.
      length = newMemory.byteSize();
    }
    readKeys();
    tellMemory();
  }

  private void grant(Set<AccessFlag> flags) {
    access = flags;
    locallyWritable = flags.contains(AccessFlag.LOCAL_WRITE);
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
          this + " does not use on-demand paging: register it with ON_DEMAND");
    }
    if (size > 0xffff_ffffL) {
      throw new IllegalArgumentException("length must be at most 4294967295 bytes: " + size);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment range = ibv_sge.allocate(arena);
      ibv_sge.addr(range, addressOf(offset, size));
      ibv_sge.length(range, (int) size);
      ibv_sge.lkey(range, lkey);
      // The region keeps its domain open.
      core.whileOpen(
          () ->
              domain
                  .verbs()
                  .ibv_advise_mr(domain.address(), advice.code(), flags, range.address(), 1));
    } catch (VerbsException e) {
      throw e.isUnsupported()
          ? Explanation.add(e, domain.context().device() + " does not support ibv_advise_mr")
          : Explanation.add(
              e,
              advice
                  + " of "
                  + this
                  + (e.errno() == Errno.EINVAL || e.errno() == Errno.EPERM
                      ? ": the region must use on-demand paging, and be writable for PREFETCH_WRITE"
                      : ""));
    }
  }

  /**
   * Validates a range of the region for a work request.
   *
   * @param offset the offset of the range in bytes
   * @param size the size of the range in bytes
   * @return the address of its first byte
   * @throws IndexOutOfBoundsException if the range is not inside the region
   * @throws IllegalStateException if the region, or the arena of its memory, is closed
   */
  long addressOf(long offset, long size) {
    requireMemory();
    return start + Ranges.within(this, offset, size, length);
  }

  @Override
  public String toString() {
    return ObjectText.of(
        core,
        "memory region 0x" + Integer.toHexString(lkey) + " of " + domain.context().device(),
        length + " bytes at 0x" + Long.toHexString(start),
        "rkey 0x" + Integer.toHexString(rkey));
  }

  /**
   * A change of a memory region: of its memory, its protection domain, its access flags, or of
   * several of them in one call ({@code ibv_rereg_mr}). What is not set stays as it is.
   *
   * {@snippet :
   * region.reregister().memory(larger).access(LOCAL_WRITE, REMOTE_WRITE).apply();
   * }
   *
   * <p>See {@code ibv_rereg_mr(3)}.
   */
  public static final class Reregistration {
    private final MemoryRegion region;
    private @Nullable MemorySegment memory;
    private @Nullable ProtectionDomain domain;
    private @Nullable Set<AccessFlag> access;

    Reregistration(MemoryRegion region) {
      this.region = region;
    }

    /**
     * Changes the memory: {@code IBV_REREG_MR_CHANGE_TRANSLATION}. The region then starts at the
     * address of the memory, also with {@link AccessFlag#ZERO_BASED}.
     *
     * @param memory native memory, which may be a part of the present one
     * @return this
     */
    public Reregistration memory(MemorySegment memory) {
      this.memory = Objects.requireNonNull(memory, "memory");
      return this;
    }

    /**
     * Changes the protection domain: {@code IBV_REREG_MR_CHANGE_PD}.
     *
     * @param domain a domain of the same context
     * @return this
     */
    public Reregistration domain(ProtectionDomain domain) {
      Core.requireSame(region.domain().context(), domain, domain.context());
      this.domain = domain;
      return this;
    }

    /**
     * Changes the access flags: {@code IBV_REREG_MR_CHANGE_ACCESS}.
     *
     * @param first an allowed operation besides local reads
     * @param others further allowed operations
     * @return this
     */
    public Reregistration access(AccessFlag first, AccessFlag... others) {
      return access(EnumSet.of(first, others));
    }

    /**
     * Changes the access flags: {@code IBV_REREG_MR_CHANGE_ACCESS}.
     *
     * @param access the allowed operations besides local reads; an empty set allows local reads
     *     only
     * @return this
     */
    public Reregistration access(Set<AccessFlag> access) {
      this.access = Set.copyOf(access);
      return this;
    }

    /**
     * Changes the region: {@code ibv_rereg_mr}. Nothing may use the region during the call, and its
     * keys may be others afterwards.
     *
     * @throws IllegalStateException if nothing is to be changed; if the region is closed, or cannot
     *     be used since an earlier change failed
     * @throws IllegalArgumentException if the flags contradict each other, or do not fit the memory
     * @throws dev.verbena.VerbsException if the call fails. The message says whether the region is
     *     unchanged, or cannot be used any more, as after every failure of the kernel; it must
     *     still be closed, and its old and new memory are kept until then
     */
    public void apply() {
      if (memory == null && domain == null && access == null) {
        throw new IllegalStateException(
            "nothing to change: set the memory, the protection domain or the access flags");
      }
      Set<AccessFlag> flags = access == null ? region.access() : access;
      AccessRules.check(flags);
      if (memory != null) {
        AccessRules.checkRegistrable(memory, flags);
      } else {
        AccessRules.checkWritable(region.memory(), flags);
      }
      region.reregister(memory, domain, access);
    }
  }
}
