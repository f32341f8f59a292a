package dev.verbena.testing;

import dev.verbena.VerbsException;
import dev.verbena.verbs.Device;
import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/**
 * Skips a device test where there is no RDMA device, or fails it if it was chosen by name; leaves a
 * test to other environments if this one has not what it {@link Needs}; names the environment of a
 * test that failed.
 */
public final class NeedsDevice implements ExecutionCondition, TestWatcher {
  /** The option {@code -Dtest} of Maven, which Surefire passes on. */
  static final String CHOSEN = "test";

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    Class<?> type = context.getRequiredTestClass();
    if (!isForDevices(context)) {
      return ConditionEvaluationResult.enabled("needs no device");
    }
    String missing = missing();
    if (missing.isEmpty()) {
      Environment here = Environment.current();
      Optional<String> reason =
          context.getTestMethod().map(test -> here.leaves(type, test)).orElse(here.leaves(type));
      return reason
          .map(ConditionEvaluationResult::disabled)
          .orElse(ConditionEvaluationResult.enabled("runs on " + here));
    }
    String chosen = System.getProperty(CHOSEN);
    if (chosen != null) {
      throw new IllegalStateException(
          "no RDMA device: "
              + missing
              + ". To run this test on software devices: mvn test -Dtest="
              + chosen);
    }
    return ConditionEvaluationResult.disabled(missing);
  }

  /** Whether a test, or each test of a class, is for devices. */
  private static boolean isForDevices(ExtensionContext context) {
    Class<?> type = context.getRequiredTestClass();
    return context
        .getTestMethod()
        .map(test -> Environment.isDeviceTest(type, test))
        .orElseGet(
            () ->
                Environment.tests(type).stream()
                    .allMatch(test -> Environment.isDeviceTest(type, test)));
  }

  private static String nameOf(ExtensionContext context) {
    return context.getRequiredTestClass().getSimpleName()
        + context.getTestMethod().map(method -> "." + method.getName()).orElse(".*");
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
    if (isForDevices(context)) {
      System.err.println("failed on " + Rig.environment() + ": " + nameOf(context));
    }
  }
}
