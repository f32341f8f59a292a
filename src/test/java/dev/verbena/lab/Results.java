package dev.verbena.lab;

import dev.verbena.testing.Environment;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestTag;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** Counts what the tests did, and says at once what went wrong. */
final class Results implements TestExecutionListener {
  private static final TestTag DEVICE = TestTag.create("device");

  private final Environment here;
  private final boolean mayLeaveAll;
  private final Gaps gaps;
  private final PrintWriter out;
  private TestPlan plan;
  private final StringBuilder failures = new StringBuilder();
  private int passed;
  private int passedOnDevice;
  private int failed;
  private int skippedByGap;
  private int skippedUnlisted;
  private final List<String> left = new ArrayList<>();

  /**
   * Counts.
   *
   * @param mayLeaveAll whether a run of no test is well: its classes were chosen
   */
  Results(Environment here, boolean mayLeaveAll, PrintWriter out) {
    this.here = here;
    this.mayLeaveAll = mayLeaveAll;
    this.gaps = Gaps.of(here);
    this.out = out;
  }

  /** Notes the device tests of a class, which other environments run. */
  void leave(Class<?> type) {
    for (Method test : Environment.tests(type)) {
      leave(type, test);
    }
  }

  /** Notes a test that other environments run; false if it is for this one. */
  private boolean leave(Class<?> type, Method test) {
    Optional<String> reason = here.leaves(type, test);
    reason.ifPresent(text -> left.add(name(type, test) + ": " + text));
    return reason.isPresent();
  }

  @Override
  public void testPlanExecutionStarted(TestPlan testPlan) {
    plan = testPlan;
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    if (test.getSource().orElse(null) instanceof MethodSource method) {
      if (!leave(method.getJavaClass(), method.getJavaMethod())) {
        skip(test, reason);
      }
    } else if (test.isTest()) {
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
    return switch (test.getSource().orElse(null)) {
      case MethodSource method -> name(method.getJavaClass(), method.getJavaMethod());
      case ClassSource type -> type.getJavaClass().getSimpleName();
      case null, default -> test.getDisplayName();
    };
  }

  /** {@code Class.method}, as in a list of gaps. */
  static String name(Class<?> type, Method test) {
    return type.getSimpleName() + "." + test.getName();
  }

  /** Whether nothing failed, nothing was skipped without being known, and a device was used. */
  boolean isGreen() {
    boolean usedDevice = passedOnDevice > 0 || (mayLeaveAll && !left.isEmpty());
    return failed == 0 && skippedUnlisted == 0 && usedDevice;
  }

  /**
   * Numbers for the table: device tests passed, all passed, failed, skipped by gap, unlisted, left
   * to other environments.
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
        + left.size();
  }

  /** What failed, one failure after another, without stack traces. */
  String failures() {
    return failures.toString();
  }

  /** The tests that other environments run, each with the reason. */
  List<String> left() {
    return left;
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
    text.append(left.size()).append(" left to others");
    if (passedOnDevice == 0) {
      text.append("\nno test talked to a device");
    }
    return text.toString();
  }
}
