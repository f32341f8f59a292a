package dev.verbena.raw;

/**
 * One thing that raw says about the C headers.
 *
 * @param kind what it is about
 * @param name how a reader knows it: a field together with its struct
 * @param subject a C expression or type that compiles where the headers know the thing
 * @param fixed a C condition that holds in every version of the headers
 * @param size the size of the subject, which a struct or union can exceed in later versions
 */
record Claim(Kind kind, String name, String subject, String fixed, long size) {
  enum Kind {
    STRUCT("incomplete type"),
    FIELD("no member named"),
    CONSTANT("undeclared");

    /** What gcc and clang both say of one that they do not know. */
    private final String unknown;

    Kind(String unknown) {
      this.unknown = unknown;
    }

    boolean isUnknown(String error) {
      return error.contains(unknown);
    }
  }

  static Claim struct(String type, long size) {
    return new Claim(Kind.STRUCT, type, type, "1", size);
  }

  static Claim field(String type, String path, long offset, long size) {
    String fixed = "offsetof(%s, %s) == %d".formatted(type, path, offset);
    return new Claim(Kind.FIELD, type + "." + path, value(type, path), fixed, size);
  }

  /**
   * A field of a struct that grows at its front: what stays is its distance from an inner struct.
   *
   * @param anchor the inner struct
   * @param distance how far behind the start of {@code anchor} the field lies
   */
  static Claim field(String type, String path, String anchor, long distance, long size) {
    String fixed =
        "(long)offsetof(%1$s, %2$s) - (long)offsetof(%1$s, %3$s) == %4$d"
            .formatted(type, path, anchor, distance);
    return new Claim(Kind.FIELD, type + "." + path, value(type, path), fixed, size);
  }

  private static String value(String type, String path) {
    return "((%s *)0)->%s".formatted(type, path);
  }

  /** A value has the width that Java gives it; its sign is a matter of that width. */
  static Claim constant(String name, Number value) {
    boolean isInt = value instanceof Integer;
    return new Claim(
        Kind.CONSTANT,
        name,
        name,
        "(%s)(%s) == %s".formatted(isInt ? "uint32_t" : "uint64_t", name, hex(value)),
        isInt ? Integer.BYTES : Long.BYTES);
  }

  private static String hex(Number value) {
    return value instanceof Integer i ? "0x%xU".formatted(i) : "0x%xUL".formatted(value);
  }

  /** C that compiles where the headers know the subject. */
  String probe() {
    return "_Static_assert(sizeof(%s) >= 0, \"\");".formatted(subject);
  }

  /**
   * C that compiles where the claim is true, and where it is false declares an array of negative
   * size: {@code _Static_assert} takes no pointer constants in clang.
   *
   * @param relation how the size that the headers give stands to ours, as a C operator
   */
  String assertion(String relation) {
    return "extern char holds[%s && sizeof(%s) %s %d ? 1 : -1];"
        .formatted(fixed, subject, relation, size);
  }

  boolean isPartOf(Claim whole) {
    return name.startsWith(whole.name + ".");
  }
}
