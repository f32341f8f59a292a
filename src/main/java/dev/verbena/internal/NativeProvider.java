package dev.verbena.internal;

import dev.verbena.VerbsException;

/** The C libraries: each loaded on first use, so that libibverbs serves without librdmacm. */
final class NativeProvider implements Provider {
  static final NativeProvider INSTANCE = new NativeProvider();

  private NativeProvider() {}

  /** Not linked before asked for; a load that failed is tried again at the next call. */
  private static final class Loaded {
    private Library libibverbs;
    private Library librdmacm;
    private Verbs verbs;
    private Librdmacm rdmacm;
  }

  private final Loaded loaded = new Loaded();

  @Override
  public synchronized Verbs verbs() {
    if (loaded.verbs == null) {
      loaded.verbs = Binding.toLibrary(Verbs.class, libibverbs());
    }
    return loaded.verbs;
  }

  @Override
  public synchronized Librdmacm rdmacm() {
    if (loaded.rdmacm == null) {
      loaded.rdmacm = Binding.toLibrary(Librdmacm.class, librdmacm());
    }
    return loaded.rdmacm;
  }

  /**
   * The library libibverbs.
   *
   * @throws VerbsException ENOENT if it cannot be loaded
   */
  synchronized Library libibverbs() {
    if (loaded.libibverbs == null) {
      Platform.current().requireSupported();
      loaded.libibverbs = Library.load("libibverbs.so.1", "dev.verbena.libibverbs");
    }
    return loaded.libibverbs;
  }

  /**
   * The library librdmacm.
   *
   * @throws VerbsException ENOENT if it cannot be loaded
   */
  synchronized Library librdmacm() {
    if (loaded.librdmacm == null) {
      Platform.current().requireSupported();
      loaded.librdmacm = Library.load("librdmacm.so.1", "dev.verbena.librdmacm");
    }
    return loaded.librdmacm;
  }
}
