package dev.verbena.internal;

import java.util.List;
import java.util.function.Function;

/**
 * Creates the {@code Device} objects of a provider for other packages; {@code dev.verbena.verbs}
 * does not export a method for it.
 */
public final class DeviceLists {
  private static volatile Function<Provider, ? extends List<?>> lists;

  private DeviceLists() {}

  /** Sets the implementation; called by the class {@code Device} when it is initialized. */
  public static void set(Function<Provider, ? extends List<?>> function) {
    lists = function;
  }

  /**
   * Returns the devices of a provider.
   *
   * @param type the class {@code Device}, which is initialized first
   */
  public static <D> List<D> of(Provider provider, Class<D> type) {
    try {
      Class.forName(type.getName(), true, type.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
    return lists.apply(provider).stream().map(type::cast).toList();
  }
}
