package dev.verbena.internal;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.util.Optional;

/**
 * An implementation of the C functions: the C libraries, or software devices in Java. {@link
 * Providers} finds the one to use.
 */
public interface Provider {
  /** Returns the control verbs. */
  Verbs verbs();

  /** Returns the functions of the RDMA connection manager. */
  Librdmacm rdmacm();

  /** Returns the rdma-core release of libibverbs, if known. */
  default Optional<String> release() {
    return Optional.empty();
  }

  /** Returns whether a software network opened a context. */
  default boolean owns(long context) {
    return false;
  }

  /** Returns whether a software device has an IP address. */
  default boolean serves(InetAddress address) {
    return false;
  }

  /**
   * Tells which segment a registered memory region consists of. A software device copies from and
   * to the segment itself, which is faster than by address, and safe: an arena that is closed is
   * noticed.
   *
   * @param region the address of the {@code struct ibv_mr}
   */
  default void memoryOf(long region, MemorySegment memory) {}
}
