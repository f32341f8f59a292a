package dev.verbena.internal;

import java.util.List;
import java.util.Optional;

/**
 * An implementation of the C functions: the C libraries, or software devices in Java.
 *
 * <p>Objects of {@code dev.verbena.verbs} keep the provider that they were created by, so that
 * several can be used at the same time.
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

  /**
   * Returns the default provider: the {@linkplain CurrentProvider current one} of the thread, the
   * software devices if some are configured, otherwise the C libraries of this host, loaded at the
   * first call of a function.
   */
  static Provider system() {
    return all().getFirst();
  }

  /**
   * Returns the providers whose devices are listed: only the {@linkplain CurrentProvider current
   * one} of the thread if it has one; otherwise software devices first, if some are configured.
   */
  static List<Provider> all() {
    Provider current = CurrentProvider.get();
    if (current != null) {
      return List.of(current);
    }
    return ConfiguredDevices.provider()
        .map(soft -> List.of(soft, NativeProvider.INSTANCE))
        .orElse(List.of(NativeProvider.INSTANCE));
  }
}
