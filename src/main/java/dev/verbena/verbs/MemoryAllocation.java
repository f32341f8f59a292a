package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.MappedMemory;
import dev.verbena.internal.foreign.OwnMemory;
import dev.verbena.internal.rules.AccessRules;
import dev.verbena.values.AccessFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;

/**
 * A builder of a memory region that owns its memory: the size, where the memory is, of which pages
 * it consists, and the access flags.
 *
 * {@snippet :
 * MemoryRegion region =
 *     pd.memory(64 << 20).hugePages(2 << 20).nearDevice().access(AccessFlag.LOCAL_WRITE).allocate();
 * }
 *
 * <p>The memory consists of whole pages of zeros, which the kernel maps ({@code mmap(2)}). It is
 * not memory of the JVM: {@code -XX:MaxDirectMemorySize} does not limit it.
 */
public final class MemoryAllocation {
  private final ProtectionDomain domain;
  private final long size;
  private long alignment = 1;
  private long hugePage;
  private OptionalInt node = OptionalInt.empty();
  private boolean prefault;
  private Set<AccessFlag> access = Set.of();

  MemoryAllocation(ProtectionDomain domain, long size) {
    domain.core.requireOpen();
    this.domain = domain;
    this.size = Ranges.positive(size, "the size of a memory region");
  }

  /**
   * Sets the allowed operations besides local reads. The default is none.
   *
   * @param access the access flags
   * @return this
   */
  public MemoryAllocation access(AccessFlag... access) {
    return access(Set.copyOf(List.of(access)));
  }

  /**
   * Sets the allowed operations besides local reads. The default is none.
   *
   * @param access the access flags
   * @return this
   */
  public MemoryAllocation access(Set<AccessFlag> access) {
    this.access = Set.copyOf(access);
    return this;
  }

  /**
   * Sets the alignment of the memory. The default is a page; huge pages are aligned to their size.
   *
   * @param alignment the alignment in bytes, a power of two
   * @return this
   */
  public MemoryAllocation alignment(long alignment) {
    this.alignment = powerOfTwo("the alignment", alignment);
    return this;
  }

  /**
   * Uses huge pages, of which the device needs fewer translations: {@code mmap} with {@code
   * MAP_HUGETLB}. The kernel must have reserved them. They are touched at once, so that {@link
   * #allocate} fails if there are too few, and no later access.
   *
   * @param pageSize the size of a huge page in bytes: a power of two that the processor supports,
   *     for example {@code 2 << 20} or {@code 1 << 30}
   * @return this
   */
  public MemoryAllocation hugePages(long pageSize) {
    this.hugePage = powerOfTwo("the size of a huge page", pageSize);
    return this;
  }

  /**
   * Takes the memory from a NUMA node, as long as the node has free memory, and then from others:
   * {@code mbind} with {@code MPOL_PREFERRED}.
   *
   * @param node the number of the node
   * @return this
   */
  public MemoryAllocation numaNode(int node) {
    if (node < 0 || node >= 1024) {
      throw new IllegalArgumentException("a NUMA node is 0 to 1023: " + node);
    }
    this.node = OptionalInt.of(node);
    return this;
  }

  /**
   * Takes the memory from the {@linkplain Device#numaNode NUMA node of the device}, if it has one.
   *
   * @return this
   */
  public MemoryAllocation nearDevice() {
    node = domain.context().device().numaNode();
    return this;
  }

  /**
   * Touches all pages at once. Only a region with {@link AccessFlag#ON_DEMAND}, or of a software
   * device, has pages that would otherwise be touched later: other registrations pin all pages.
   *
   * @return this
   */
  public MemoryAllocation prefault() {
    this.prefault = true;
    return this;
  }

  private static long powerOfTwo(String what, long value) {
    if (value < 1 || Long.bitCount(value) != 1) {
      throw new IllegalArgumentException(what + " must be a power of two: " + value);
    }
    return value;
  }

  /**
   * Allocates the memory and registers it: {@code ibv_reg_mr}.
   *
   * @return the region, to be closed
   * @throws IllegalArgumentException if the flags contradict each other, or if the alignment is
   *     larger than a huge page
   * @throws OutOfMemoryError if there is not enough memory
   * @throws VerbsException for example ENOMEM if the limit of locked memory is reached; of {@code
   *     mmap} if there are not enough huge pages, or none of this size; of {@code mbind} if there
   *     is no such NUMA node
   */
  public MemoryRegion allocate() {
    AccessRules.check(access);
    if (hugePage != 0 && alignment > hugePage) {
      throw new IllegalArgumentException(
          "an alignment of " + alignment + " bytes is larger than a huge page: " + hugePage);
    }
    domain.core.requireOpen();
    OwnMemory own = new OwnMemory(this::map);
    try {
      return MemoryRegistration.ofOwn(domain, own).access(access).register();
    } catch (Throwable t) {
      own.free();
      throw t;
    }
  }

  private MemorySegment map(Arena arena) {
    MemorySegment memory = MappedMemory.map(size, alignment, hugePage, arena);
    node.ifPresent(number -> MappedMemory.place(memory, number));
    if (prefault || hugePage != 0) {
      MappedMemory.populate(memory, hugePage);
    }
    return memory;
  }
}
