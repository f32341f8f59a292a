package dev.verbena.tools.qualify;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The result of trying a capability.
 *
 * @param capability its name
 * @param announced whether the attributes announce it; null if no attribute does
 * @param verdict the verdict
 * @param detail the errno, the status, or what differs; empty if it works
 */
public record Outcome(
    String capability, @Nullable Boolean announced, Verdict verdict, String detail) {
  /** The verdict. */
  public enum Verdict {
    /** It works. */
    WORKS,
    /** The call reports that it is not supported. */
    UNSUPPORTED,
    /** It fails, or does something else than it should. */
    FAILS,
    /** The JVM crashed. */
    CRASHED,
    /** It did not end in time. */
    HUNG,
    /** It was not tried, because the device no longer answers. */
    NOT_TRIED;

    String word() {
      return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  /** Returns whether the result is worth a look: it differs from the attributes, or is an error. */
  boolean isFinding() {
    return switch (verdict) {
      case WORKS -> Boolean.FALSE.equals(announced);
      case UNSUPPORTED -> Boolean.TRUE.equals(announced);
      case FAILS -> !Boolean.FALSE.equals(announced);
      case CRASHED, HUNG -> true;
      case NOT_TRIED -> false;
    };
  }

  Map<String, Object> tree(Redaction redaction) {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("capability", capability);
    tree.put("announced", announced == null ? "no attribute" : announced ? "yes" : "no");
    tree.put("verdict", verdict.word());
    tree.put("detail", redaction.text(detail));
    tree.put("finding", isFinding());
    return tree;
  }
}
