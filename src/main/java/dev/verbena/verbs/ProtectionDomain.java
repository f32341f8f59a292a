package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Segments;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_pd;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * A protection domain: {@code struct ibv_pd}. Only objects of one domain work together.
 *
 * <p>
 *
 * {@snippet :
 * try (ProtectionDomain pd = context.allocateProtectionDomain()) {
 *   MemoryRegion buffer = pd.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
 * }
 * }
 *
 * <p>Closing it calls {@code ibv_dealloc_pd}.
 */
public sealed class ProtectionDomain extends Resource permits ParentDomain {
  private final Context context;

  ProtectionDomain(Context context, long address) {
    this(context, address, () -> context.verbs().ibv_dealloc_pd(address));
  }

  /** A domain that is given back in another way. */
  ProtectionDomain(Context context, long address, Runnable release) {
    super(address, release);
    this.context = context;
  }

  static ProtectionDomain imported(Context context, int handle) {
    return make(
        List.of(context),
        () -> {
          long pd = context.verbs().ibv_import_pd(context.address(), handle);
          return new ProtectionDomain(context, pd, () -> context.verbs().ibv_unimport_pd(pd));
        });
  }

  /**
   * A domain that C code made and will give back, such as one of librdmacm.
   *
   * @param context the context it belongs to
   * @param owner what must be closed after everything that is made on the domain
   * @param segment the {@code struct ibv_pd}
   * @return a domain whose closing closes what was made on it, but leaves the C object alone
   */
  public static ProtectionDomain borrow(Context context, Resource owner, MemorySegment segment) {
    long address = Segments.object(segment, "ibv_pd");
    return make(List.of(context, owner), () -> new ProtectionDomain(context, address, () -> {}));
  }

  /**
   * Allocates memory and registers it with the device: {@code ibv_reg_mr}. The memory consists of
   * whole pages of zeros, belongs to the region, and is freed when that is closed, after {@code
   * ibv_dereg_mr}. Using {@link MemoryRegion#memory} after that throws.
   *
   * @param size in bytes
   * @param access what may be done to it besides reading it locally
   * @return a region, to be closed
   * @throws IllegalArgumentException if the size is not positive or the flags contradict each other
   * @throws OutOfMemoryError if there is not as much memory
   * @throws VerbsException ENOMEM if the limit of locked memory is reached, for example
   */
  public MemoryRegion allocateMemory(long size, AccessFlag... access) {
    requireOpen();
    OwnMemory own = new OwnMemory(size);
    try {
      return MemoryRegistration.ofOwn(this, own).access(access).register();
    } catch (RuntimeException e) {
      own.free();
      throw e;
    }
  }

  /**
   * Registers memory with the device: {@code ibv_reg_mr}. Its pages are pinned until the region is
   * closed, which must be before the segment's arena is: {@link MemoryRegistration#closedWith} does
   * it then, and {@link #allocateMemory} has no such order.
   *
   * @param memory native memory: of an arena, of a mapped file, or of C
   * @param access what may be done to it besides reading it locally
   * @return a region, to be closed
   * @throws IllegalArgumentException if the segment is on the heap, empty or read-only where the
   *     flags say writing, or if the flags contradict each other
   */
  public MemoryRegion registerMemory(MemorySegment memory, AccessFlag... access) {
    return memory(memory).access(access).register();
  }

  /**
   * Registers memory with the device: {@code ibv_reg_mr}.
   *
   * @param memory native memory: of an arena, of a mapped file, or of C
   * @param access what may be done to it besides reading it locally
   * @return a region, to be closed
   * @throws IllegalArgumentException as the other form does
   */
  public MemoryRegion registerMemory(MemorySegment memory, Set<AccessFlag> access) {
    return memory(memory).access(access).register();
  }

  /**
   * Begins the registration of memory with more to say about it.
   *
   * @param memory native memory: of an arena, of a mapped file, or of C
   * @return a registration that is not yet made
   */
  public MemoryRegistration memory(MemorySegment memory) {
    return MemoryRegistration.ofMemory(this, memory);
  }

  /**
   * Begins the registration of a DMA buffer, which may lie on another device.
   *
   * @param descriptor its file descriptor
   * @param offset where in it the region starts
   * @param length how long the region is
   * @return a registration that is not yet made
   */
  public MemoryRegistration dmaBuf(int descriptor, long offset, long length) {
    return MemoryRegistration.ofDmaBuf(this, descriptor, offset, length);
  }

  /**
   * Registers the whole address space of this process, paged on demand: {@code ibv_reg_mr} with
   * {@link AccessFlag#ON_DEMAND}, address 0 and the largest length.
   *
   * @param access what may be done to the memory besides reading it locally
   * @return a region whose offsets are addresses, to be closed
   */
  public MemoryRegion registerAddressSpace(AccessFlag... access) {
    Set<AccessFlag> flags = EnumSet.of(AccessFlag.ON_DEMAND, access);
    AccessRules.check(flags);
    try {
      return withoutMemory(
          flags, () -> verbs().__ibv_reg_mr(address(), 0, -1, (int) Flags.mask(flags)));
    } catch (VerbsException e) {
      throw context.deviceAttributes().onDemandPaging().implicit()
          ? AccessRules.explained(e, -1, flags, this)
          : e.explained(context.device() + " cannot make the whole address space one region");
    }
  }

  /**
   * Makes a region that swallows what is written to it and reads as zeros: {@code
   * ibv_alloc_null_mr}.
   *
   * @return a region without memory and without end, for local use, to be closed
   */
  public MemoryRegion allocateNullRegion() {
    try {
      return withoutMemory(
          Set.of(AccessFlag.LOCAL_WRITE), () -> verbs().ibv_alloc_null_mr(address()));
    } catch (VerbsException e) {
      throw e.isUnsupported() ? e.explained(context.device() + " has no null regions") : e;
    }
  }

  /** A region that begins at 0 and has no end. */
  private MemoryRegion withoutMemory(Set<AccessFlag> access, LongSupplier registration) {
    return make(
        List.of(this),
        () ->
            new MemoryRegion(
                this,
                registration.getAsLong(),
                MemorySegment.NULL,
                0,
                Long.MAX_VALUE,
                Set.copyOf(access)));
  }

  /**
   * Imports a region that another process registered in a domain that this one was imported from:
   * {@code ibv_import_mr}.
   *
   * @param handle as {@link MemoryRegion#handle} shows it there
   * @param start as {@link MemoryRegion#start} shows it there
   * @param access as {@link MemoryRegion#access} shows it there
   * @return a region whose closing leaves the other process's region alone: {@code ibv_unimport_mr}
   */
  public MemoryRegion importMemoryRegion(int handle, long start, AccessFlag... access) {
    return MemoryRegion.imported(this, handle, start, Set.copyOf(List.of(access)));
  }

  /**
   * Lets the provider allocate memory as suits this domain: {@code ibv_alloc_buf}.
   *
   * @param size how much
   * @return a buffer, to be closed
   */
  public ProviderBuffer allocateBuffer(long size) {
    return ProviderBuffer.allocate(this, size);
  }

  /**
   * Makes a memory window: {@code ibv_alloc_mw}.
   *
   * @param type how it will be bound
   * @return a window that shows nothing yet, to be closed
   */
  public MemoryWindow allocateMemoryWindow(MemoryWindowType type) {
    return MemoryWindow.allocate(this, type);
  }

  /**
   * Begins a domain over this one.
   *
   * @return a builder
   */
  public ParentDomain.Builder parentDomain() {
    return new ParentDomain.Builder(this);
  }

  /**
   * Begins a work queue.
   *
   * @return a builder
   */
  public WorkQueue.Builder workQueue() {
    return new WorkQueue.Builder(this);
  }

  /**
   * Begins a queue pair.
   *
   * @param type the transport service
   * @return a builder
   */
  public QueuePairBuilder queuePair(QueuePairType type) {
    requireOpen();
    return new QueuePairBuilder(this, Objects.requireNonNull(type, "type"));
  }

  /**
   * Makes a shared receive queue whose requests have one entry each: {@code ibv_create_srq}.
   *
   * @param requests how many receive requests it must hold
   * @return a queue, to be closed
   */
  public SharedReceiveQueue createSharedReceiveQueue(int requests) {
    return sharedReceiveQueue(requests).create();
  }

  /**
   * Begins a shared receive queue with more to say about it.
   *
   * @param requests how many receive requests it must hold
   * @return a builder
   */
  public SharedReceiveQueue.Builder sharedReceiveQueue(int requests) {
    requireOpen();
    return new SharedReceiveQueue.Builder(this, requests);
  }

  /**
   * Makes an address handle, by which datagrams name the path to a peer: {@code ibv_create_ah}.
   *
   * @param path the path
   * @return a handle, to be closed once no request that names it is outstanding
   */
  public AddressHandle createAddressHandle(AddressVector path) {
    return AddressHandle.create(this, path);
  }

  /**
   * Makes an address handle to answer a datagram: {@code ibv_create_ah_from_wc}.
   *
   * @param port the port that the datagram came in on
   * @param completions where its completion is
   * @param index which one of them
   * @param buffer where it was received: its first 40 bytes are its GRH, if it has one
   * @return a handle, to be closed once no request that names it is outstanding
   * @throws IllegalArgumentException if the buffer is too short for a GRH
   */
  public AddressHandle createAddressHandle(
      Port port, Completions completions, int index, MemorySegment buffer) {
    return AddressHandle.toSender(this, port, completions, index, buffer);
  }

  /**
   * The number that another process {@linkplain Context#importProtectionDomain imports} the domain
   * by.
   *
   * @return the kernel's handle
   */
  public int handle() {
    return ibv_pd.handle(Memory.at(address(), ibv_pd.sizeof()));
  }

  /**
   * The context that the domain was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  /** The domain that the kernel knows: objects of all domains over it work together. */
  ProtectionDomain root() {
    return this;
  }

  /**
   * Whether objects of both work together: a parent domain is one with its base, and librdmacm
   * shows one C domain to all identifiers of a device, each of which has an object of its own for
   * it.
   */
  final boolean isOneWith(ProtectionDomain other) {
    ProtectionDomain mine = root();
    ProtectionDomain theirs = other.root();
    return mine == theirs || mine.address() == theirs.address();
  }

  /**
   * Closes the windows, also those of parent domains. They go before everything else: a window of
   * type 2 has to go before the queue pair that it is bound through, whether or not {@link
   * MemoryWindow#bound} was called.
   */
  final void closeWindows() {
    children(MemoryWindow.class).forEach(MemoryWindow::close);
    children(ParentDomain.class).forEach(ProtectionDomain::closeWindows);
  }

  @Override
  protected final void beforeClose() {
    closeWindows();
  }

  final Verbs verbs() {
    return context.verbs();
  }

  @Override
  public String toString() {
    return "protection domain of " + context.device();
  }
}
