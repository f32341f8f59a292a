package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.ThreadDomains;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.KeptMemory;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.internal.rules.AccessRules;
import dev.verbena.raw.ibv_parent_domain_init_attr;
import dev.verbena.raw.ibv_pd;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * A protection domain: {@code struct ibv_pd}. Work requests of a queue pair can only use memory
 * regions, address handles and shared receive queues of the same domain.
 *
 * {@snippet :
 * try (ProtectionDomain pd = context.allocateProtectionDomain()) {
 *   MemoryRegion buffer = pd.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
 * }
 * }
 *
 * <p>A domain may be used by several threads. Closing it first closes everything that was created
 * from it, then calls {@code ibv_dealloc_pd}. See {@code ibv_alloc_pd(3)}.
 */
public class ProtectionDomain extends Resource {
  private final Context context;
  private final int handle;
  private final long root;

  ProtectionDomain(Context context, Core core) {
    this(context, core, core.address());
  }

  ProtectionDomain(Context context, Core core, long root) {
    super(core);
    this.handle = Memory.getInt(core.address() + ibv_pd.handle$offset());
    this.root = root;
    this.context = context;
    core.beforeClose(this::closeWindows);
    core.wrapDestruction(this::deallocate);
  }

  static ProtectionDomain imported(Context context, int handle) {
    return Core.make(
        List.of(context),
        () -> context.verbs().ibv_import_pd(context.address(), handle),
        context.verbs()::ibv_unimport_pd,
        core -> new ProtectionDomain(context, core));
  }

  /**
   * {@return a domain that C code allocated and deallocates, for example librdmacm; closing it
   * closes what was created from it, but does not deallocate the C object}
   *
   * @param context the context of the domain
   * @param segment the {@code struct ibv_pd}
   * @throws IllegalArgumentException if the segment is shorter than the struct: with native access,
   *     {@link MemorySegment#reinterpret(long)} makes a pointer long enough
   */
  public static ProtectionDomain borrow(Context context, MemorySegment segment) {
    long address = Segments.struct(segment, "ibv_pd", ibv_pd.sizeof());
    return Core.borrow(List.of(context), address, core -> new ProtectionDomain(context, core));
  }

  /**
   * Allocates memory and registers it: {@code ibv_reg_mr}. The memory consists of whole pages of
   * zeros and is owned by the region: closing the region calls {@code ibv_dereg_mr}, then frees the
   * memory. Accesses to {@link MemoryRegion#memory} after that throw an exception.
   *
   * @param size the size in bytes
   * @param access the allowed operations besides local reads
   * @return the region, to be closed
   * @throws IllegalArgumentException if the size is not positive or the flags contradict each other
   * @throws OutOfMemoryError if there is not enough memory
   * @throws VerbsException for example ENOMEM if the limit of locked memory is reached
   */
  public MemoryRegion allocateMemory(long size, AccessFlag... access) {
    return memory(size).access(access).allocate();
  }

  /**
   * {@return a builder of a region that owns its memory, with the choice of huge pages, the NUMA
   * node and the alignment}
   *
   * @param size the size in bytes
   * @throws IllegalArgumentException if the size is not positive
   */
  public MemoryAllocation memory(long size) {
    return new MemoryAllocation(this, size);
  }

  /**
   * Registers memory: {@code ibv_reg_mr}. Its pages are pinned until the region is closed. Closing
   * the arena of the memory first closes the region; {@link MemoryRegion} describes the memory that
   * the program must keep itself.
   *
   * @param memory native memory: of an arena, of a mapped file, or allocated by C code
   * @param access the allowed operations besides local reads
   * @return the region, to be closed
   * @throws IllegalArgumentException if the segment is on the heap or empty, if it is read-only and
   *     the flags allow writes, or if the flags contradict each other
   */
  public MemoryRegion registerMemory(MemorySegment memory, AccessFlag... access) {
    return memory(memory).access(access).register();
  }

  /**
   * Registers memory: {@code ibv_reg_mr}.
   *
   * @param memory native memory: of an arena, of a mapped file, or allocated by C code
   * @param access the allowed operations besides local reads
   * @return the region, to be closed
   * @throws IllegalArgumentException as {@link #registerMemory(MemorySegment, AccessFlag...)}
   */
  public MemoryRegion registerMemory(MemorySegment memory, Set<AccessFlag> access) {
    return memory(memory).access(access).register();
  }

  /**
   * {@return a builder of a memory registration}
   *
   * @param memory native memory: of an arena, of a mapped file, or allocated by C code
   */
  public MemoryRegistration memory(MemorySegment memory) {
    return MemoryRegistration.ofMemory(this, memory);
  }

  /**
   * {@return a builder of the registration of a DMA buffer (dma-buf), for example memory of another
   * device}
   *
   * @param buffer the DMA buffer
   * @param offset the offset of the region in the buffer, in bytes
   * @param length the length of the region in bytes
   */
  public MemoryRegistration dmaBuf(DmaBuf buffer, long offset, long length) {
    return MemoryRegistration.ofDmaBuf(this, buffer, offset, length);
  }

  /**
   * Registers the whole address space of this process with on-demand paging: {@code ibv_reg_mr}
   * with {@link AccessFlag#ON_DEMAND}, address 0 and the maximum length.
   *
   * @param access the allowed operations besides local reads
   * @return a region whose offsets are addresses, to be closed
   */
  public MemoryRegion registerAddressSpace(AccessFlag... access) {
    Set<AccessFlag> flags = EnumSet.of(AccessFlag.ON_DEMAND, access);
    AccessRules.check(flags);
    try {
      return withoutMemory(
          flags, () -> verbs().__ibv_reg_mr(address(), 0, -1, (int) NativeFlag.mask(flags)));
    } catch (VerbsException e) {
      throw context.deviceAttributes().onDemandPaging().implicit()
          ? AccessRules.explained(e, -1, flags, toString())
          : Explanation.add(
              e, context.device() + " does not support registration of the whole address space");
    }
  }

  /**
   * Allocates a null memory region, which discards what is written to it and reads as zeros: {@code
   * ibv_alloc_null_mr}.
   *
   * @return a region without memory and with unlimited length, for local use, to be closed
   */
  public MemoryRegion allocateNullRegion() {
    try {
      return withoutMemory(
          Set.of(AccessFlag.LOCAL_WRITE), () -> verbs().ibv_alloc_null_mr(address()));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(
          e, context.device() + " does not support null memory regions");
    }
  }

  /** Returns a region that starts at address 0 and has unlimited length. */
  private MemoryRegion withoutMemory(Set<AccessFlag> access, LongSupplier registration) {
    return MemoryRegion.register(
        List.of(this),
        this,
        registration,
        KeptMemory.none(),
        0,
        Long.MAX_VALUE,
        Set.copyOf(access));
  }

  /**
   * Imports a memory region that another process registered in the domain from which this domain
   * was imported: {@code ibv_import_mr}.
   *
   * @param handle the value of {@link MemoryRegion#handle} in that process
   * @param start the value of {@link MemoryRegion#start} in that process
   * @param access the value of {@link MemoryRegion#access} in that process
   * @return a region; closing it ({@code ibv_unimport_mr}) does not affect the region of the other
   *     process
   */
  public MemoryRegion importMemoryRegion(int handle, long start, AccessFlag... access) {
    return MemoryRegion.imported(this, handle, start, Set.copyOf(List.of(access)));
  }

  /**
   * Creates an address handle: {@code ibv_create_ah}.
   *
   * @param path the address vector of the destination
   * @return the handle, to be closed when no send request that uses it is outstanding
   */
  public AddressHandle createAddressHandle(AddressVector path) {
    return AddressHandle.create(this, path);
  }

  /**
   * Creates an address handle for the sender of a received datagram: {@code ibv_create_ah_from_wc}.
   *
   * @param port the port that received the datagram
   * @param completions the completions that contain the work completion of the datagram
   * @param index the index of the work completion
   * @param buffer the receive buffer, whose first 40 bytes are the GRH if the completion has the
   *     flag {@link CompletionFlag#GRH}
   * @return the handle, to be closed when no send request that uses it is outstanding
   * @throws IllegalArgumentException if the buffer is too short for a GRH
   */
  public AddressHandle createAddressHandle(
      Port port, Completions completions, int index, MemorySegment buffer) {
    return AddressHandle.toSender(this, port, completions, index, buffer);
  }

  /**
   * Returns the kernel's handle of the domain, by which another process {@linkplain
   * Context#importProtectionDomain imports} it.
   *
   * @return the handle
   */
  public int handle() {
    return ibv_pd.handle(Memory.at(address(), ibv_pd.sizeof()));
  }

  /**
   * Allocates a parent domain of this one: {@code ibv_alloc_parent_domain}.
   *
   * @param threadDomain its {@code ibv_td}
   * @return the {@code ibv_pd}, to be deallocated
   */
  final long inThreadDomain(long threadDomain) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_parent_domain_init_attr.allocate(arena);
      setAllocator(attr);
      ibv_parent_domain_init_attr.pd(attr, segment());
      ibv_parent_domain_init_attr.td(attr, MemorySegment.ofAddress(threadDomain));
      return verbs().ibv_alloc_parent_domain(context.address(), attr.address());
    }
  }

  /** Sets the allocator and its flags, and perhaps more, in the attributes of a parent domain. */
  void setAllocator(MemorySegment attr) {
    // The memory of the provider, unless a domain has an allocator.
  }

  /** Returns whether the provider creates queue pairs in a thread domain of the program. */
  boolean hasThreadDomain() {
    return false;
  }

  /** {@return the context of the domain} */
  public Context context() {
    return context;
  }

  /**
   * Returns the address of the {@code struct ibv_pd} that the kernel knows. Objects of all domains
   * with the same root can be used together.
   */
  final long root() {
    return root;
  }

  /**
   * {@return whether objects of both domains can be used together} They can for a parent domain and
   * its base, and for the domains of librdmacm: it uses one {@code ibv_pd} for all identifiers of a
   * device, and each identifier has its own object for it.
   *
   * @param other another domain
   */
  public final boolean isOneWith(ProtectionDomain other) {
    return root == other.root;
  }

  /**
   * Closes the memory windows, also those of parent domains, before everything else: a window of
   * type 2 must be deallocated before the queue pair that it is bound through, whether or not
   * {@link MemoryWindow#bound} was called.
   */
  final void closeWindows() {
    core.children(Resource.class).stream().filter(Resource::closesFirst).forEach(Resource::close);
    core.children(ProtectionDomain.class).forEach(ProtectionDomain::closeWindows);
  }

  private void deallocate(Runnable destroy) {
    ThreadDomains threadDomains = context.directPath().threadDomains();
    threadDomains.closeAgain();
    try {
      destroy.run();
    } catch (VerbsException e) {
      // A parent domain that exists in libmlx5 alone may count as a user of this one.
      if (e.errno() != Errno.EBUSY
          || !threadDomains.hasLeftParents()
          || !context.loss().isKnown()) {
        throw e;
      }
    }
  }

  final Verbs verbs() {
    return context.verbs();
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "protection domain " + handle + " of " + context.device());
  }
}
