package dev.verbena.aeron;

import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The thread of the JVM that creates and destroys verbs objects: the calls take milliseconds, and
 * the threads of a driver must not wait for them. Tasks run one after the other, in the order in
 * which they were given.
 */
final class Worker {
  private static final ThreadPoolExecutor EXECUTOR =
      new ThreadPoolExecutor(
          1, 1, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), Worker::thread);

  private static volatile Thread current;

  static {
    EXECUTOR.allowCoreThreadTimeOut(true);
  }

  private Worker() {}

  private static Thread thread(Runnable code) {
    Thread thread = new Thread(code, "verbena-aeron");
    current = thread;
    thread.setDaemon(true);
    return thread;
  }

  /** Runs a task later. A failure that the task does not handle is logged. */
  static void run(Runnable task) {
    EXECUTOR.execute(
        () -> {
          try {
            task.run();
          } catch (RuntimeException | Error e) {
            Log.LOGGER.log(Level.ERROR, "an RDMA object could not be created or closed", e);
          }
        });
  }

  /** Runs a task later. Also an error, as of memory, is a failure of what was asked for. */
  static <T> Pending<T> ask(Supplier<T> task) {
    Pending<T> pending = new Pending<>();
    EXECUTOR.execute(
        () -> {
          try {
            pending.complete(task.get());
          } catch (NoDeviceException e) {
            pending.fail(e.getMessage());
          } catch (RuntimeException | Error e) {
            pending.fail(e.toString());
          }
        });
    return pending;
  }

  /** Runs a task now, and returns its result. */
  static <T> T call(Supplier<T> task) {
    return CompletableFuture.supplyAsync(task, EXECUTOR).join();
  }

  /** Returns the number of tasks that wait, for tests. */
  static int waiting() {
    return EXECUTOR.getQueue().size();
  }

  /** Returns whether the current thread is the worker, for assertions. */
  static boolean isCurrent() {
    return Thread.currentThread() == current;
  }
}
