package dev.verbena.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.launcher.TestExecutionListener;

/** A run of device tests that hangs is ended. */
class WatchTest {
  @TempDir private Path reports;

  @Test
  void aRunThatHangsEndsWithTheStacksOfAllThreads() {
    ForkedJvm.Result result =
        new ForkedJvm().withJarOf(TestExecutionListener.class).run(Hang.class, reports.toString());
    assertEquals(Watch.EXIT, result.exit(), result.output());
    assertTrue(result.output().contains("no test began or ended for 1 s"), result.output());
    assertTrue(result.output().contains("Hang.inVirtualThread("), result.output());
  }

  /** Hangs, in a virtual thread and in the main thread. */
  static final class Hang {
    private static final CountDownLatch NEVER = new CountDownLatch(1);

    private Hang() {}

    public static void main(String[] args) throws InterruptedException {
      PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
      Watch _ = Watch.start(Duration.ofSeconds(1), Path.of(args[0]), out);
      Thread.ofVirtual().start(Hang::inVirtualThread).join();
    }

    private static void inVirtualThread() {
      try {
        NEVER.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
