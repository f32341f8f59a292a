package dev.verbena.verbs;

/** Enum constants that stand for C numbers. */
final class Codes {
  private Codes() {}

  /** An enum constant with its C number. */
  interface Code {
    /** The number. */
    int code();
  }

  /** The constant with a number, or a fallback for numbers that C added since. */
  static <E extends Enum<E> & Code> E of(Class<E> type, int code, E unknown) {
    for (E constant : type.getEnumConstants()) {
      if (constant.code() == code) {
        return constant;
      }
    }
    return unknown;
  }
}
