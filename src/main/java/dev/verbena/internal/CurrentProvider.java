package dev.verbena.internal;

import java.util.concurrent.Callable;

/**
 * The provider that a thread, and the threads which it starts, use in place of the default: that of
 * a software network.
 */
public final class CurrentProvider {
  private static final InheritableThreadLocal<Provider> CURRENT = new InheritableThreadLocal<>();

  private CurrentProvider() {}

  /** Returns the provider of the current thread, or null. */
  static Provider get() {
    return CURRENT.get();
  }

  /** Calls code that uses a provider. */
  public static <T> T call(Provider provider, Callable<T> code) throws Exception {
    Provider before = CURRENT.get();
    CURRENT.set(provider);
    try {
      return code.call();
    } finally {
      if (before == null) {
        CURRENT.remove();
      } else {
        CURRENT.set(before);
      }
    }
  }
}
