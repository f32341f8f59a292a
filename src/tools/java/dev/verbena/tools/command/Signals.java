package dev.verbena.tools.command;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;

/**
 * SIGINT and SIGTERM: they interrupt a command that prints what it has by then, and the JVM ends
 * when it has done so. Other commands end at once.
 */
public final class Signals {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private static volatile boolean areInterrupts;

  private Signals() {}

  /** From now on, signals interrupt the command of this process. */
  public static void interrupt() {
    areInterrupts = true;
  }

  /** Runs the command of this process in this thread, and returns its exit status. */
  static int run(IntSupplier command) {
    Thread thread = Thread.currentThread();
    CountDownLatch ended = new CountDownLatch(1);
    Thread hook = new Thread(() -> end(thread, ended), "signals");
    Runtime.getRuntime().addShutdownHook(hook);
    int status = command.getAsInt();
    ended.countDown();
    return status;
  }

  private static void end(Thread command, CountDownLatch ended) {
    if (!areInterrupts || ended.getCount() == 0) {
      return;
    }
    command.interrupt();
    try {
      boolean _ = ended.await(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
