package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Allocates the memory of queues that are created on a {@linkplain ParentDomain parent domain}: the
 * functions {@code alloc} and {@code free} of {@code struct ibv_parent_domain_init_attr}.
 */
public interface ProviderAllocator {
  /**
   * Allocates memory. It must be native, filled with zeros, accessible by all threads and valid
   * until it is {@linkplain #free freed}; and a {@code fork} must not make the kernel copy it.
   *
   * @param size the size in bytes
   * @param alignment the alignment of the address in bytes
   * @param resource the resource type, in the codes of the provider
   * @return the memory, or null to let the provider allocate it
   */
  @Nullable MemorySegment allocate(long size, long alignment, long resource);

  /**
   * Frees memory.
   *
   * @param memory the segment that {@link #allocate} returned
   * @param resource the resource type
   */
  void free(MemorySegment memory, long resource);
}
