package dev.verbena.internal;

import dev.verbena.VerbsException;
import java.util.Optional;

/** The C libraries: each loaded on first use, so that libibverbs serves without librdmacm. */
final class NativeProvider implements Provider {
  static final NativeProvider INSTANCE = new NativeProvider();

  // Not loaded before asked for; a load that failed is tried again at the next call.
  private Library libibverbs;
  private Library librdmacm;
  private Verbs verbs;
  private Librdmacm rdmacm;

  private NativeProvider() {}

  @Override
  public synchronized Verbs verbs() {
    if (verbs == null) {
      verbs = Binding.toLibrary(Verbs.class, libibverbs());
    }
    return verbs;
  }

  @Override
  public synchronized Librdmacm rdmacm() {
    if (rdmacm == null) {
      rdmacm = Binding.toLibrary(Librdmacm.class, librdmacm());
    }
    return rdmacm;
  }

  @Override
  public Optional<String> release() {
    return libibverbs().release();
  }

  /**
   * The library libibverbs.
   *
   * @throws VerbsException ENOENT if it cannot be loaded
   */
  synchronized Library libibverbs() {
    if (libibverbs == null) {
      Platform.current().requireSupported();
      libibverbs = Library.libibverbs();
    }
    return libibverbs;
  }

  /**
   * The library librdmacm.
   *
   * @throws VerbsException ENOENT if it cannot be loaded
   */
  synchronized Library librdmacm() {
    if (librdmacm == null) {
      Platform.current().requireSupported();
      librdmacm = Library.librdmacm();
    }
    return librdmacm;
  }
}
