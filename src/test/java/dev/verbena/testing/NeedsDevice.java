package dev.verbena.testing;

import dev.verbena.VerbsException;
import dev.verbena.lab.Gaps;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/**
 * Skips a device test where there is no RDMA device, or fails it if it was chosen by name; skips
 * what is not for software devices on these; names the environment of a test that failed.
 */
public final class NeedsDevice implements ExecutionCondition, TestWatcher {
  /** The option {@code -Dtest} of Maven, which Surefire passes on. */
  static final String CHOSEN = "test";

  private static final Path GAPS = Path.of("src/lab/gaps/soft");

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    String missing = missing();
    if (missing.isEmpty()) {
      return isLeftOut(context)
          ? ConditionEvaluationResult.disabled("not for software devices: " + GAPS)
          : ConditionEvaluationResult.enabled("there is a device");
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

  /** Whether the list says so: a guest has a list of its own. */
  private static boolean isLeftOut(ExtensionContext context) {
    try {
      return Rig.isSoftware()
          && Rig.labGuest().isEmpty()
          && Files.exists(GAPS)
          && Gaps.read(GAPS).leavesOut(nameOf(context));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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
    System.err.println("failed on " + Rig.environment() + ": " + nameOf(context));
  }
}
