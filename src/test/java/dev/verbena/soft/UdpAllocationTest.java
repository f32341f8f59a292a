package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.JUnitException;
import org.opentest4j.AssertionFailedError;

/**
 * What packets over UDP allocate on the threads of the two devices and on the thread that posts and
 * polls: nothing in most JVMs. In some, C2 does not remove the slice that the JDK makes of the
 * memory for errno in each system call, of which there is less than one for each packet. In a JVM
 * of its own, as {@link SoftAllocationTest}.
 */
class UdpAllocationTest {
  private static final int MESSAGES = 2_000;
  private static final int PACKETS = 3 * MESSAGES;
  private static final int BYTES_OF_SLICE = 40;
  private static final int LIMIT = PACKETS * BYTES_OF_SLICE;
  private static final int ROUNDS = 40;

  @Test
  void noObjectIsAllocatedForEachPacket() {
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .withJarOf(Test.class)
            .withJarOf(AssertionFailedError.class)
            .withJarOf(JUnitException.class)
            .run(Exchange.class)
            .succeeded();
    long allocated = Long.parseLong(output.substring(0, output.indexOf(' ')));
    assertTrue(allocated < LIMIT, output);
  }

  /**
   * Exchanges messages, and prints the bytes of the round that allocated least: the first below the
   * limit, if there is one.
   */
  static final class Exchange {
    private static final com.sun.management.ThreadMXBean THREADS =
        (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final Completions COMPLETIONS = new Completions(1);
    private static final int LENGTH = 10_000;

    private Exchange() {}

    public static void main(String[] args) throws IOException {
      int port = UdpNetworkTest.freePort();
      try (SoftNetwork left = SoftNetwork.overUdp(UdpNetworkTest.at("127.0.0.1", port));
          SoftNetwork right = SoftNetwork.overUdp(UdpNetworkTest.at("127.0.0.2", port));
          UdpNetworkTest.Ends ends = new UdpNetworkTest.Ends(left, right)) {
        long[] threads =
            Thread.getAllStackTraces().keySet().stream()
                .filter(
                    thread ->
                        thread.getName().startsWith("verbena-soft-")
                            || thread.equals(Thread.currentThread()))
                .mapToLong(Thread::threadId)
                .toArray();
        if (threads.length != 3) {
          throw new IllegalStateException(threads.length + " threads");
        }
        ReceiveList receives = new ReceiveList(1, 1);
        receives.local(0, ends.b.region, 0, LENGTH);
        SendList sends = new SendList(1, 1);
        sends.send(0).local(ends.a.region, 0, LENGTH).signaled();
        long allocated = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS && allocated >= LIMIT; round++) {
          long before = allocated(threads);
          exchange(ends, receives, sends);
          allocated = Math.min(allocated, allocated(threads) - before);
        }
        System.out.println(allocated + " bytes in " + MESSAGES + " messages of 3 packets");
      }
    }

    private static long allocated(long[] threads) {
      long all = 0;
      for (long thread : threads) {
        all += THREADS.getThreadAllocatedBytes(thread);
      }
      return all;
    }

    private static void exchange(UdpNetworkTest.Ends ends, ReceiveList receives, SendList sends) {
      for (int i = 0; i < MESSAGES; i++) {
        int _ = ends.b.queuePair.post(receives);
        int _ = ends.a.queuePair.post(sends);
        await(ends.b.completions);
        await(ends.a.completions);
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
