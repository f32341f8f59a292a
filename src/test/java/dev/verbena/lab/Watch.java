package dev.verbena.lab;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import dev.verbena.testing.Await;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Ends the JVM, with the stacks of all threads, if no test begins or ends for too long. An
 * interrupt of the test would not do: a thread in C does not notice it.
 */
final class Watch implements TestExecutionListener {
  /** The exit status of a run that hangs, as that of timeout(1) and of the lab. */
  static final int EXIT = 124;

  private final Duration limit;
  private final Path reports;
  private final PrintWriter out;
  private volatile String latest = "nothing";
  private volatile long since = System.nanoTime();

  private Watch(Duration limit, Path reports, PrintWriter out) {
    this.limit = limit;
    this.reports = reports;
    this.out = out;
  }

  /**
   * Starts to watch.
   *
   * @param limit the longest time between the begin or end of two tests
   * @param reports a folder for the stacks
   */
  static Watch start(Duration limit, Path reports, PrintWriter out) {
    Watch watch = new Watch(limit, reports.toAbsolutePath(), out);
    Thread.ofPlatform().daemon().name("watch").start(watch::watch);
    return watch;
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    seen("began " + test.getUniqueId());
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    seen("ended " + test.getUniqueId());
  }

  private void seen(String event) {
    latest = event;
    since = System.nanoTime();
  }

  private void watch() {
    try {
      Duration left = limit;
      while (left.isPositive()) {
        Await.pass(left, "tests begin and end");
        left = limit.minusNanos(System.nanoTime() - since);
      }
      out.println("no test began or ended for " + limit.toSeconds() + " s; " + latest);
      showStacks();
    } catch (InterruptedException | IOException | RuntimeException e) {
      out.println("the watch ended: " + e);
    } finally {
      out.flush();
      Runtime.getRuntime().halt(EXIT);
    }
  }

  private void showStacks() throws IOException {
    Path stacks = reports.resolve("stacks");
    Files.deleteIfExists(stacks);
    ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
        .dumpThreads(stacks.toString(), ThreadDumpFormat.TEXT_PLAIN);
    out.println(Files.readString(stacks));
  }
}
