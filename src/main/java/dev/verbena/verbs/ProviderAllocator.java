package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;

/**
 * Gives a provider the memory of queues that are made in a {@linkplain
 * ProtectionDomain#parentDomain parent domain}: the {@code alloc} and {@code free} of {@code struct
 * ibv_parent_domain_init_attr}.
 */
public interface ProviderAllocator {
  /**
   * Allocates memory. It must be native, filled with zeros, usable by all threads and stay valid
   * until it is {@linkplain #free freed}; a child process must not be able to make the kernel copy
   * it.
   *
   * @param size how much is needed
   * @param alignment what its address must be a multiple of
   * @param resource what it is for, in the numbers of the provider
   * @return the memory, or null to leave the allocation to the provider
   */
  MemorySegment allocate(long size, long alignment, long resource);

  /**
   * Takes back memory.
   *
   * @param memory what {@link #allocate} returned
   * @param resource what it was for
   */
  void free(MemorySegment memory, long resource);
}
