package dev.verbena.lab;

import java.io.PrintWriter;
import java.util.HashSet;
import java.util.Set;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.TestTag;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** Counts what the tests did, and says at once what went wrong. */
final class Results implements TestExecutionListener {
  private static final TestTag DEVICE = TestTag.create("device");

  private final Gaps gaps;
  private final PrintWriter out;
  private TestPlan plan;
  private final StringBuilder failures = new StringBuilder();
  private int passed;
  private int passedOnDevice;
  private int failed;
  private int skippedByGap;
  private int skippedUnlisted;
  private final Set<UniqueId> left = new HashSet<>();
  private int leftWithClass;

  Results(Gaps gaps, PrintWriter out) {
    this.gaps = gaps;
    this.out = out;
  }

  /** Notes a test that another guest runs. */
  void leave(UniqueId test) {
    left.add(test);
  }

  /** Notes the tests of a class that another guest runs. */
  void leave(int tests) {
    leftWithClass += tests;
  }

  @Override
  public void testPlanExecutionStarted(TestPlan testPlan) {
    plan = testPlan;
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    if (test.isTest()) {
      skip(test, reason);
    } else {
      plan.getChildren(test).forEach(child -> executionSkipped(child, reason));
    }
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    switch (result.getStatus()) {
      case FAILED -> fail(test, result.getThrowable().orElse(null));
      case ABORTED ->
          executionSkipped(test, result.getThrowable().map(Throwable::getMessage).orElse(""));
      case SUCCESSFUL -> {
        if (test.isTest()) {
          pass(test);
        }
      }
    }
  }

  private void pass(TestIdentifier test) {
    passed++;
    if (test.getTags().contains(DEVICE)) {
      passedOnDevice++;
      if (passedOnDevice == 1) {
        out.println("first device test passed: " + name(test));
      }
    }
    gaps.pass(name(test));
  }

  private void fail(TestIdentifier test, Throwable cause) {
    failed++;
    String failure = "FAILED " + name(test) + " (" + test.getDisplayName() + ")";
    failures.append(failure).append(": ").append(cause).append('\n');
    out.println(failure);
    if (cause != null) {
      cause.printStackTrace(out);
    }
  }

  private void skip(TestIdentifier test, String reason) {
    if (gaps.skip(name(test))) {
      skippedByGap++;
    } else {
      skippedUnlisted++;
      out.println("SKIPPED, and not on the list of known gaps: " + name(test) + ": " + reason);
    }
  }

  private static String name(TestIdentifier test) {
    TestSource source = test.getSource().orElse(null);
    return switch (source) {
      case MethodSource method -> name(method);
      case ClassSource type -> simple(type.getClassName());
      case null, default -> test.getDisplayName();
    };
  }

  /** {@code Class.method}, as in a list of gaps. */
  static String name(MethodSource method) {
    return simple(method.getClassName()) + "." + method.getMethodName();
  }

  static String simple(String className) {
    return className.substring(className.lastIndexOf('.') + 1);
  }

  /** Whether nothing failed, nothing was skipped without being known, and a device was used. */
  boolean isGreen() {
    return failed == 0 && skippedUnlisted == 0 && passedOnDevice > 0;
  }

  /**
   * Numbers for the table: device tests passed, all passed, failed, skipped by gap, unlisted, left
   * to another guest.
   */
  String row() {
    return passedOnDevice
        + " "
        + passed
        + " "
        + failed
        + " "
        + skippedByGap
        + " "
        + skippedUnlisted
        + " "
        + (left.size() + leftWithClass);
  }

  /** What failed, one failure after another, without stack traces. */
  String failures() {
    return failures.toString();
  }

  /** What a reader wants to know at the end. */
  String summary() {
    StringBuilder text = new StringBuilder();
    gaps.closed().stream()
        .sorted()
        .forEach(
            gap ->
                text.append("no gap any more, remove it from the list: ").append(gap).append('\n'));
    text.append(passed).append(" passed (").append(passedOnDevice).append(" on a device), ");
    text.append(failed).append(" failed, ");
    text.append(skippedByGap).append(" skipped as known gaps, ");
    text.append(skippedUnlisted).append(" skipped for no known reason, ");
    text.append(left.size() + leftWithClass).append(" left to others");
    if (passedOnDevice == 0) {
      text.append("\nno test talked to a device");
    }
    return text.toString();
  }
}
