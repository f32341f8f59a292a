package dev.verbena.internal;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The open software networks of this JVM. */
public final class SoftwareProviders {
  private static final List<Provider> OPEN = new CopyOnWriteArrayList<>();

  private SoftwareProviders() {}

  /** Adds the provider of a network that was created. */
  public static void add(Provider provider) {
    OPEN.add(provider);
  }

  /** Removes the provider of a network that was closed. */
  public static void remove(Provider provider) {
    OPEN.remove(provider);
  }

  /** Returns the provider that opened a context: a software network, otherwise the C libraries. */
  static Provider ofContext(long context) {
    for (Provider provider : OPEN) {
      if (provider.owns(context)) {
        return provider;
      }
    }
    return NativeProvider.INSTANCE;
  }

  /** Returns whether the provider is that of a software network which was closed. */
  static boolean isClosed(Provider provider) {
    return provider != NativeProvider.INSTANCE && !OPEN.contains(provider);
  }
}
