package dev.verbena.internal;

import dev.verbena.VerbsException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The provider of the C libraries, each loaded at its first use: libibverbs works without
 * librdmacm.
 */
final class NativeProvider implements Provider {
  static final NativeProvider INSTANCE = new NativeProvider();

  // A failed load is repeated at the next call.
  private final Map<Class<?>, Library> libraries = new ConcurrentHashMap<>();
  private final Map<Class<?>, Object> bound = new ConcurrentHashMap<>();

  private NativeProvider() {}

  @Override
  public Verbs verbs() {
    return bind(Verbs.class);
  }

  @Override
  public Librdmacm rdmacm() {
    return bind(Librdmacm.class);
  }

  @Override
  public Optional<String> release() {
    return release(Verbs.class);
  }

  /** Returns the rdma-core release of the library that exports these functions, if it is known. */
  Optional<String> release(Class<?> functions) {
    return library(functions).release();
  }

  /**
   * Returns the functions of a C library.
   *
   * @param functions an interface with {@link SharedLibrary}
   * @throws VerbsException ENOENT if the library cannot be loaded
   */
  <T> T bind(Class<T> functions) {
    return functions.cast(
        bound.computeIfAbsent(functions, type -> Binding.toLibrary(type, library(type))));
  }

  private Library library(Class<?> functions) {
    return libraries.computeIfAbsent(
        functions,
        type -> {
          Platform.current().requireSupported();
          GeneratedBinding generated = GeneratedBinding.ALL.get(type);
          return generated == null ? Library.of(type) : generated.library().get();
        });
  }
}
