package dev.verbena.internal.life;

import java.util.StringJoiner;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The string of an object: its name, and in parentheses what it is like, and whether it is closed.
 * It calls no C function, and takes no lock that is held while C is called.
 */
public final class ObjectText {
  private ObjectText() {}

  /**
   * {@return the string of an object}
   *
   * @param name which object it is, without parentheses
   * @param details what it is like; those that are null are left out
   */
  public static String of(Core core, String name, @Nullable Object... details) {
    StringJoiner text = new StringJoiner(", ", name + " (", ")").setEmptyValue(name);
    for (Object detail : details) {
      if (detail != null) {
        text.add(detail.toString());
      }
    }
    return (core.isOpen() ? text : text.add("closed")).toString();
  }

  /**
   * {@return what a function reads of the C struct, or null once closing has begun} Closing does
   * not begin meanwhile, so the function must not wait.
   */
  public static <T> @Nullable T ifOpen(Core core, Supplier<T> read) {
    synchronized (core) {
      return core.isOpen() ? read.get() : null;
    }
  }
}
