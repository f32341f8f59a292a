package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.flow.FlowRule;
import dev.verbena.values.QueuePairType;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Arguments that are refused where they are passed, not where they are used. */
class NullArgumentsTest extends FakeDeviceFixture {
  private static void assertNamed(String name, Executable call) {
    assertEquals(name, assertThrows(NullPointerException.class, call).getMessage());
  }

  @Test
  void nullThrowsWithItsName() {
    QueuePair qp =
        QueuePair.builder(pd, QueuePairType.RAW_PACKET)
            .completions(context.createCompletionQueue(4))
            .create();
    assertNamed("action", () -> FlowRule.on(qp, 1).action(null));
    assertNamed("counters", () -> FlowRule.on(qp, 1).count(null));
    assertNamed("type", () -> QueuePair.builder(pd, null));
    assertNamed("type", () -> DmaHandle.builder(context).memoryType(null));
    assertNamed("allocator", () -> ParentDomain.builder(pd).allocator(null));
    assertNamed("listener", () -> AsyncEvents.of(context).listen(null));
  }

  @Test
  void longestDurationIsUnlimitedOrThrows() {
    Duration longest = Duration.ofSeconds(Long.MAX_VALUE, 999_999_999);
    Duration shortest = Duration.ofSeconds(Long.MIN_VALUE);
    CompletionQueue queue =
        context.completionQueue(4).channel(context.createCompletionChannel()).create();
    for (Duration wrong : new Duration[] {longest, shortest}) {
      assertThrows(IllegalArgumentException.class, () -> queue.moderate(1, wrong));
    }
    assertThrows(IllegalArgumentException.class, () -> new CompletionWaiter(queue, shortest));
    CompletionWaiter waiter = new CompletionWaiter(queue, Duration.ZERO);
    assertDoesNotThrow(() -> assertEquals(0, waiter.poll(new Completions(1), shortest)));
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> waiter.poll(new Completions(1), longest));
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> AsyncEvents.of(context).poll(longest));
  }
}
