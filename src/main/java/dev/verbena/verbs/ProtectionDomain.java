package dev.verbena.verbs;

import dev.verbena.internal.Verbs;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * A protection domain: {@code struct ibv_pd}. Only objects of one domain work together.
 *
 * <p>
 *
 * {@snippet :
 * try (ProtectionDomain pd = context.allocateProtectionDomain();
 *     Arena arena = Arena.ofShared()) {
 *   MemoryRegion buffer = pd.registerMemory(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
 * }
 * }
 */
public final class ProtectionDomain extends Resource {
  private final Context context;

  ProtectionDomain(Context context, long address) {
    super(address, () -> context.verbs().ibv_dealloc_pd(address), context);
    this.context = context;
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
    return new ProtectionDomain(context, segment.address(), () -> {}, context, owner);
  }

  private ProtectionDomain(Context context, long address, Runnable release, Resource... parents) {
    super(address, release, parents);
    this.context = context;
  }

  /**
   * Registers memory with the device: {@code ibv_reg_mr}. Its pages are pinned until the region is
   * closed, which must be before the segment's arena is.
   *
   * @param memory native memory
   * @param access what may be done to it besides reading it locally
   * @return a region, to be closed
   * @throws IllegalArgumentException if the segment is on the heap, empty or read-only where the
   *     flags say writing, or if the flags contradict each other
   */
  public MemoryRegion registerMemory(MemorySegment memory, AccessFlag... access) {
    return registerMemory(memory, Set.copyOf(List.of(access)));
  }

  /**
   * Registers memory with the device: {@code ibv_reg_mr}.
   *
   * @param memory native memory
   * @param access what may be done to it besides reading it locally
   * @return a region, to be closed
   * @throws IllegalArgumentException as the other form does
   */
  public MemoryRegion registerMemory(MemorySegment memory, Set<AccessFlag> access) {
    MemoryRegion.checkRegistrable(memory, access);
    long mr =
        verbs()
            .__ibv_reg_mr(address(), memory.address(), memory.byteSize(), (int) Flags.mask(access));
    return new MemoryRegion(this, mr, memory, access);
  }

  /**
   * Begins a queue pair.
   *
   * @param type the transport service
   * @return a builder
   */
  public QueuePair.Builder queuePair(QueuePairType type) {
    requireOpen();
    return new QueuePair.Builder(this, type);
  }

  /**
   * The context that the domain was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  Verbs verbs() {
    return context.verbs();
  }

  @Override
  public String toString() {
    return "protection domain of " + context.device();
  }
}
