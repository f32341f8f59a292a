package dev.verbena.tools;

/**
 * One thing that the doctor looked at.
 *
 * @param verdict how it is
 * @param finding what was found
 * @param advice what to do; empty if nothing
 */
record Check(Verdict verdict, String finding, String advice) {
  /** How a check went. */
  enum Verdict {
    /** As it should be. */
    OK,
    /** Works, but something may be missed. */
    NOTE,
    /** Keeps RDMA from working. */
    PROBLEM
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
