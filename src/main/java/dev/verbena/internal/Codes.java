package dev.verbena.internal;

import dev.verbena.NativeConstant;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Conversion between enum constants and C constants. */
public final class Codes {
  private static final System.Logger LOG = System.getLogger("dev.verbena");

  /** The unknown values that were logged. */
  private static final Set<String> LOGGED = ConcurrentHashMap.newKeySet();

  private Codes() {}

  /**
   * Returns the constant with a value, or a fallback for values that this library does not know,
   * which are logged once each.
   */
  public static <E extends Enum<E> & NativeConstant> E of(Class<E> type, int code, E unknown) {
    E known = find(type, code);
    if (known != null) {
      return known;
    }
    String value = type.getSimpleName() + " " + code;
    if (LOGGED.add(value)) {
      LOG.log(
          System.Logger.Level.WARNING,
          value + " is unknown to this library and becomes " + unknown);
    }
    return unknown;
  }

  /** Returns the constant with a value, or null. */
  public static <E extends Enum<E> & NativeConstant> @Nullable E find(Class<E> type, int code) {
    for (E constant : type.getEnumConstants()) {
      if (constant.code() == code) {
        return constant;
      }
    }
    return null;
  }
}
