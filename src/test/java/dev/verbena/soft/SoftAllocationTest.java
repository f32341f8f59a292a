package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** What messages over software devices allocate on the thread that posts and polls. */
class SoftAllocationTest {
  private static final int MESSAGES = 20_000;
  private static final int ROUNDS = 20;

  private final Completions completions = new Completions(1);

  @Test
  void postingAndPollingAllocateNothing() {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (SoftPair pair = SoftPair.connected()) {
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, pair.b.region, 0, 8);
      SendList sends = new SendList(1, 1);
      sends.send(0).local(pair.a.region, 0, 8).signaled();
      long allocated = -1;
      for (int round = 0; round < ROUNDS && allocated != 0; round++) {
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < MESSAGES; i++) {
          int _ = pair.b.queuePair.post(receives);
          int _ = pair.a.queuePair.post(sends);
          await(pair.b.completions);
          await(pair.a.completions);
        }
        allocated = threads.getCurrentThreadAllocatedBytes() - before;
      }
      assertEquals(0, allocated, "bytes in " + MESSAGES + " messages");
    }
  }

  private void await(CompletionQueue queue) {
    while (queue.poll(completions) == 0) {
      Thread.onSpinWait();
    }
    assertTrue(completions.isSuccess(0));
  }
}
