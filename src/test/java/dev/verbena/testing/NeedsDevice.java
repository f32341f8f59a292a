package dev.verbena.testing;

import dev.verbena.VerbsException;
import dev.verbena.verbs.Device;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/**
 * Skips a device test where there is no RDMA device, or fails it if it was chosen by name; names
 * the environment of a test that failed.
 */
final class NeedsDevice implements ExecutionCondition, TestWatcher {
  /** The option {@code -Dtest} of Maven, which Surefire passes on. */
  static final String CHOSEN = "test";

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    String missing = missing();
    if (missing.isEmpty()) {
      return ConditionEvaluationResult.enabled("there is a device");
    }
    String chosen = System.getProperty(CHOSEN);
    if (chosen != null) {
      throw new IllegalStateException(
          "no RDMA device: "
              + missing
              + ". To run this test on software devices: mvn test -Psoft -Dtest="
              + chosen);
    }
    return ConditionEvaluationResult.disabled(missing);
  }

  /** Why there is no device; empty if there is one. */
  private static String missing() {
    try {
      return Device.list().isEmpty() ? "this machine has none" : "";
    } catch (VerbsException | UnsupportedOperationException e) {
      return e.getMessage();
    }
  }

  @Override
  public void testFailed(ExtensionContext context, Throwable cause) {
    System.err.println(
        "failed on "
            + Rig.environment()
            + ": "
            + context.getRequiredTestClass().getSimpleName()
            + "."
            + context.getRequiredTestMethod().getName());
  }
}
