package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.ForkedJvm;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.JUnitException;
import org.opentest4j.AssertionFailedError;

/**
 * What messages over software devices allocate on the thread that posts and polls: nothing. In a
 * JVM of its own: which objects the compiler removes depends on everything that ran before.
 */
class SoftAllocationTest {
  private static final int MESSAGES = 20_000;
  private static final int ROUNDS = 20;

  @Test
  void postingAndPollingAllocateNothing() {
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .withJarOf(Test.class)
            .withJarOf(AssertionFailedError.class)
            .withJarOf(JUnitException.class)
            .run(Exchange.class)
            .succeeded();
    long allocated = Long.parseLong(output.substring(0, output.indexOf(' ')));
    assertEquals(0, allocated, output);
  }

  /** Exchanges messages, and prints the bytes of the round that allocated least. */
  static final class Exchange {
    private static final Completions COMPLETIONS = new Completions(1);

    private Exchange() {}

    public static void main(String[] args) {
      var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
      try (SoftPair pair = SoftPair.connected()) {
        ReceiveList receives = new ReceiveList(1, 1);
        receives.local(0, pair.b.region, 0, 8);
        SendList sends = new SendList(1, 1);
        sends.send(0).local(pair.a.region, 0, 8).signaled();
        long allocated = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
          long before = threads.getCurrentThreadAllocatedBytes();
          for (int i = 0; i < MESSAGES; i++) {
            int _ = pair.b.queuePair.post(receives);
            int _ = pair.a.queuePair.post(sends);
            await(pair.b.completions);
            await(pair.a.completions);
          }
          allocated = Math.min(allocated, threads.getCurrentThreadAllocatedBytes() - before);
        }
        System.out.println(allocated + " bytes in " + MESSAGES + " messages");
      }
    }

    private static void await(CompletionQueue queue) {
      while (queue.poll(COMPLETIONS) == 0) {
        Thread.onSpinWait();
      }
      if (!COMPLETIONS.isSuccess(0)) {
        throw new IllegalStateException(COMPLETIONS.describe(0));
      }
    }
  }
}
