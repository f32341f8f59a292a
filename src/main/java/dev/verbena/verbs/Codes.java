package dev.verbena.verbs;

/** Conversion between enum constants and C constants. */
final class Codes {
  private Codes() {}

  /** An enum constant with the value of its C constant. */
  interface Code {
    /** Returns the value of the C constant. */
    int code();
  }

  /**
   * Returns the constant with a value, or a fallback for values that this library does not know.
   */
  static <E extends Enum<E> & Code> E of(Class<E> type, int code, E unknown) {
    for (E constant : type.getEnumConstants()) {
      if (constant.code() == code) {
        return constant;
      }
    }
    return unknown;
  }
}
