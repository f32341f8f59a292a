package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.SendList;
import org.junit.jupiter.api.Test;

/** The slots of a send queue. */
class SendQueueTest {
  private static final int SLOTS = 16;

  @Test
  void aSlotIsFreeOnceItsCompletionWasPolled() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList write = new SendList(1, 1);
      write
          .write(0)
          .local(pair.a.region, 0, 1)
          .remote(pair.b.memory.address(), pair.b.region.rkey())
          .signaled();
      for (int i = 0; i < 20_000; i++) {
        if (i >= SLOTS) {
          assertEquals(CompletionStatus.SUCCESS, pair.completion());
        }
        assertEquals(1, pair.a.queuePair.post(write), "queue full at request " + i);
      }
    }
  }
}
