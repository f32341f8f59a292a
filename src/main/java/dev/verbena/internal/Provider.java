package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.PostingStart;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An implementation of the C functions: the C libraries, or software devices in Java. {@link
 * Providers} finds the one to use.
 */
public interface Provider {
  /** Returns the control verbs. */
  Verbs verbs();

  /** Returns the functions of the RDMA connection manager. */
  Librdmacm rdmacm();

  /**
   * Returns the functions of a provider library, which is loaded at the first call.
   *
   * @param functions the interface of the library
   * @throws VerbsException EOPNOTSUPP if this provider has no such library, ENOENT if it is not
   *     installed
   */
  default <T> T library(Class<T> functions) {
    throw new VerbsException(
        functions.getSimpleName(), Errno.EOPNOTSUPP, "this device has no such provider library");
  }

  /** Returns the rdma-core release of libibverbs, if known. */
  default Optional<String> release() {
    return Optional.empty();
  }

  /** Returns the name of the file with the verbs of a context's device, if known. */
  default Optional<String> providerLibrary(long context) {
    return Optional.empty();
  }

  /** Returns whether a software network opened a context. */
  default boolean owns(long context) {
    return false;
  }

  /**
   * Drops the reference that librdmacm counts for a context in the list of {@code
   * rdma_get_devices}: it then closes the context of a device that was removed.
   *
   * @param context the address of the {@code struct ibv_context}
   */
  default void forgetDevice(long context) {}

  /** Returns the counters of a context's software device, by their names. */
  default Map<String, Long> counters(long context) {
    return Map.of();
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

  /**
   * Returns the direct data path of a context.
   *
   * @throws VerbsException EOPNOTSUPP with the reason if it cannot have one
   */
  default DirectQueues directQueues(long context) {
    throw new VerbsException(
        "mlx5dv_init_obj", Errno.EOPNOTSUPP, "only devices of this host have a direct data path");
  }

  /**
   * Returns what starts the postings of a queue pair.
   *
   * @param qp the {@code ibv_qp}
   * @param qpEx its {@code ibv_qp_ex}
   * @return null: {@code ibv_wr_start} does
   */
  default @Nullable PostingStart postingStart(long qp, long qpEx) {
    return null;
  }
}
