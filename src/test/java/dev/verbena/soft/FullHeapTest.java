package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.ForkedJvm;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.JUnitException;
import org.opentest4j.AssertionFailedError;

/** A full Java heap: software devices report errors, and the JVM goes on. */
class FullHeapTest {
  @RepeatedTest(2)
  void postsAndPollsOutliveAFullHeap() {
    String output =
        new ForkedJvm()
            .with("-Xmx32m", "-XX:+UseSerialGC")
            .withNativeAccess()
            .withJarOf(Test.class)
            .withJarOf(AssertionFailedError.class)
            .withJarOf(JUnitException.class)
            .run(Exhausting.class)
            .succeeded();
    assertEquals("a message arrives", output.strip().lines().toList().getLast(), output);
  }

  /** Posts and polls while another thread fills the heap; then exchanges a message. */
  static final class Exhausting {
    private static final int FILLINGS = 1;

    private Exhausting() {}

    public static void main(String[] args) throws InterruptedException {
      for (int i = 0; i < FILLINGS; i++) {
        exchangeWithFullHeap();
      }
      try (SoftPair pair = SoftPair.connected()) {
        pair.transfer(1, 64);
      }
      System.out.println("a message arrives");
    }

    private static void exchangeWithFullHeap() throws InterruptedException {
      try (SoftPair pair = SoftPair.connected()) {
        pair.transfer(1, 8); // Loads the classes of the program itself.
        ReceiveList receives = new ReceiveList(1, 1);
        receives.local(0, pair.b.region, 0, 8);
        SendList sends = new SendList(1, 1);
        sends.send(0).local(pair.a.region, 0, 8).signaled();
        Completions completions = new Completions(4);
        AtomicBoolean full = new AtomicBoolean();
        Thread filler = Thread.ofPlatform().start(() -> fill(full));
        while (filler.isAlive()) {
          try {
            int _ = pair.b.queuePair.post(receives);
            int _ = pair.a.queuePair.post(sends);
            int _ = pair.b.completions.poll(completions);
            int _ = pair.a.completions.poll(completions);
          } catch (Throwable e) {
            // Whatever reaches the caller is permitted while the heap is full.
          }
        }
        filler.join();
      }
    }

    private static void fill(AtomicBoolean full) {
      Object[] all = null;
      int size = 1 << 20;
      int failures = 0;
      while (failures < 60) {
        try {
          all = new Object[] {all, new byte[size]};
        } catch (OutOfMemoryError e) {
          size = Math.max(16, size / 2);
          failures++;
        }
      }
      full.set(all == null);
    }
  }
}
