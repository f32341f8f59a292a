package dev.verbena.internal;

import dev.verbena.VerbsException;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.PostingStart;
import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Platform;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The provider of the C libraries, each loaded at its first use: libibverbs works without
 * librdmacm.
 */
final class NativeProvider implements Provider {
  static final NativeProvider INSTANCE = new NativeProvider();

  /**
   * The variable that libmlx5 reads when it creates a queue pair, for librdmacm too. Unless it is
   * 0, the device delivers short messages in completion queue entries, and polling copies them to
   * the addresses of the request: to memory that was freed after its region was closed, or to an
   * address that only the device knows.
   */
  private static final String SCATTER_TO_CQE = "MLX5_SCATTER_TO_CQE";

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
  public <T> T library(Class<T> functions) {
    return bind(functions);
  }

  @Override
  public Optional<String> release() {
    return release(Verbs.class);
  }

  /** Finds the library of the function that ibv_poll_cq calls. */
  @Override
  public Optional<String> providerLibrary(long context) {
    long pollCq = ibv_context.ops$offset() + ibv_context_ops.poll_cq$offset();
    return Library.fileAt(Memory.getLong(context + pollCq));
  }

  @Override
  public void forgetDevice(long context) {
    // A list as rdma_get_devices returns it, with one device: librdmacm frees it.
    long list = Libc.malloc(2 * Long.BYTES);
    Memory.putLong(list, context);
    Memory.putLong(list + Long.BYTES, 0);
    rdmacm().rdma_free_devices(list);
  }

  @Override
  public DirectQueues directQueues(long context) {
    return directDataPath().open(verbs(), context);
  }

  @Override
  public @Nullable PostingStart postingStart(long qp, long qpEx) {
    return providerLibrary(Memory.contextOf(qp))
        .map(library -> directDataPath().postingStart(library, qp, qpEx))
        .orElse(null);
  }

  /** One vendor's data path is implemented: the first one is that of the device, or refuses. */
  private static DirectDataPath directDataPath() {
    return ServiceLoader.load(DirectDataPath.class, DirectDataPath.class.getClassLoader())
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no direct data path is installed"));
  }

  /** Returns the rdma-core release of the library that exports these functions, if it is known. */
  Optional<String> release(Class<?> functions) {
    return loaded(functions).release();
  }

  /**
   * Returns the functions of a C library.
   *
   * @param functions an interface with {@link SharedLibrary}
   * @throws VerbsException ENOENT if the library cannot be loaded
   */
  <T> T bind(Class<T> functions) {
    return functions.cast(
        bound.computeIfAbsent(functions, type -> Binding.toLibrary(type, loaded(type))));
  }

  private Library loaded(Class<?> functions) {
    return libraries.computeIfAbsent(
        functions,
        type -> {
          Platform.current().requireSupported();
          GeneratedBinding generated = GeneratedBinding.ALL.get(type);
          Library library = generated == null ? Library.of(type) : generated.library().get();
          Libc.setVariable(SCATTER_TO_CQE, "0");
          return library;
        });
  }
}
