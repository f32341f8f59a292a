package dev.verbena.internal;

import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A generated class that implements an interface of C functions by native calls, as {@link Binding}
 * does for any such interface, but without reflection.
 *
 * @param library loads the library
 * @param constructor implements the interface by the symbols of a library
 */
record GeneratedBinding(Supplier<Library> library, Function<Library, Object> constructor) {
  /** By interface. */
  static final Map<Class<?>, GeneratedBinding> ALL =
      Map.of(
          Verbs.class, new GeneratedBinding(NativeVerbs::library, NativeVerbs::new),
          Librdmacm.class, new GeneratedBinding(NativeLibrdmacm::library, NativeLibrdmacm::new),
          Libefa.class, new GeneratedBinding(NativeLibefa::library, NativeLibefa::new),
          Mlx5dv.class, new GeneratedBinding(NativeMlx5dv::library, NativeMlx5dv::new));
}
