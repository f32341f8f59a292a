package dev.verbena.testing;

import dev.verbena.VerbsException;
import dev.verbena.verbs.Device;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Lets a test run where there is an RDMA device. */
final class NeedsDevice implements ExecutionCondition {
  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    try {
      return Device.list().isEmpty()
          ? ConditionEvaluationResult.disabled("this machine has no RDMA device")
          : ConditionEvaluationResult.enabled("there is a device");
    } catch (VerbsException | UnsupportedOperationException e) {
      return ConditionEvaluationResult.disabled(e.getMessage());
    }
  }
}
