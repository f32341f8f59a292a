package dev.verbena.internal;

import java.util.Optional;

/**
 * Whoever answers the verbs: the C libraries, or something that stands in for them.
 *
 * <p>Objects of the verbs floor keep the provider they came from, so several may be in use at once.
 */
public interface Provider {
  /** The control verbs. */
  Verbs verbs();

  /** The RDMA connection manager. */
  Librdmacm rdmacm();

  /** The rdma-core release whose libibverbs answers, where that can be told. */
  default Optional<String> release() {
    return Optional.empty();
  }

  /** The C libraries of this machine, loaded when first asked for a function. */
  static Provider system() {
    return NativeProvider.INSTANCE;
  }
}
