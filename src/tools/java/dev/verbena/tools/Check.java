package dev.verbena.tools;

import java.util.Locale;
import java.util.Map;

/**
 * The result of one check of the doctor.
 *
 * @param verdict the verdict
 * @param finding the finding
 * @param advice the remedy; empty if none is needed
 */
record Check(Verdict verdict, String finding, String advice) {
  /** The verdict of a check. */
  enum Verdict {
    /** No problem. */
    OK,
    /** RDMA works, with a limitation. */
    NOTE,
    /** RDMA does not work. */
    PROBLEM;

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  Map<String, String> tree() {
    return Map.of("verdict", verdict.word(), "finding", finding, "advice", advice);
  }

  static Check ok(String finding) {
    return new Check(Verdict.OK, finding, "");
  }

  static Check note(String finding, String advice) {
    return new Check(Verdict.NOTE, finding, advice);
  }

  static Check problem(String finding, String advice) {
    return new Check(Verdict.PROBLEM, finding, advice);
  }
}
