package dev.verbena.internal;

import java.util.List;
import java.util.Optional;

/**
 * An implementation of the seam: the C libraries, or software devices in Java.
 *
 * <p>Objects of {@code dev.verbena.verbs} keep the provider they came from, so several may be in
 * use at once.
 */
public interface Provider {
  /** The control verbs. */
  Verbs verbs();

  /** The RDMA connection manager. */
  Librdmacm rdmacm();

  /** The rdma-core release of the libibverbs that is used, where that can be told. */
  default Optional<String> release() {
    return Optional.empty();
  }

  /**
   * The provider of calls that name none: the software devices if some are configured, else the C
   * libraries of this machine, loaded when first asked for a function.
   */
  static Provider system() {
    return ConfiguredDevices.provider().orElse(NativeProvider.INSTANCE);
  }

  /** The providers whose devices are listed: software devices first, if some are configured. */
  static List<Provider> all() {
    return ConfiguredDevices.provider()
        .map(soft -> List.of(soft, NativeProvider.INSTANCE))
        .orElse(List.of(NativeProvider.INSTANCE));
  }
}
