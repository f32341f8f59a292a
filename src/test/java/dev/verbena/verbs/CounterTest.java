package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.util.List;
import java.util.Set;

/** Counters, work queues and flow rules on a device that has none of them (S0-38). */
class CounterTest {
  @DeviceTest
  void softRoceRefusesCountersWithReason() {
    try (Context context = Rig.a().open()) {
      Refusal.of(context::createFlowCounters, "no counters");
      Refusal.of(
          () -> context.createCompletionCounter(CompletionCounter.Type.REQUESTS),
          "no completion counters");
      Refusal.of(context::completionCounterCapabilities);
    }
  }

  @DeviceTest
  void softRoceRefusesWorkQueuesWithReason() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      CompletionQueue cq = context.createCompletionQueue(1);
      WorkQueue.Builder builder = pd.workQueue();
      assertThrows(NullPointerException.class, builder::create);
      assertThrows(IllegalArgumentException.class, () -> builder.capacity(0, 1));
      builder.completions(cq).flags(WorkQueueFlag.STRIP_VLAN);
      Refusal.of(builder::create, "no work queues");
      assertThrows(
          IllegalArgumentException.class, () -> context.createReceiveIndirectionTable(List.of()));
    }
  }

  @DeviceTest
  void softRoceRefusesFlowRulesWithReason() {
    try (Loop loop = new Loop()) {
      assertThrows(IllegalArgumentException.class, () -> loop.qp.flowRule(0));
      Refusal.of(
          () -> loop.qp.flowRule(1).match(FlowMatch.ethernet().type(0x0800)).create(),
          "steers no flows");
    }
  }

  @DeviceTest
  void softRoceRefusesFlowActionsWithReason() {
    try (Context context = Rig.a().open()) {
      assertThrows(IllegalStateException.class, () -> context.createFlowAction(new EspTransform()));
      EspTransform esp =
          new EspTransform()
              .association(new EspTransform.Association(Set.of(), 1, 0, 0, 0))
              .key(new EspTransform.AesGcm(new byte[16], 1, 2, 16));
      Refusal.of(() -> context.createFlowAction(esp), "does not transform ESP");
    }
  }
}
