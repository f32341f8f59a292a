package dev.verbena.sockets;

import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that call {@code rclose} and {@code rshutdown}. These functions wait in C until the
 * peer's device has acknowledged all data, or until the retries of the device are exhausted: never
 * on Soft-RoCE, which treats the retry count of 7 that rsockets set as unlimited. The caller waits
 * here, for a limited time.
 *
 * <p>The threads do not keep the JVM alive. When it ends, it waits for them for a while, so that
 * data that was written before {@code close} arrives.
 */
final class ClosingThreads {
  /** How long the end of the JVM waits, and a {@code close} for which SO_LINGER is not set. */
  static final long LIMIT = TimeUnit.SECONDS.toNanos(10);

  private static final Executor THREADS =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          1,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          Thread.ofPlatform().daemon().name("verbena-rclose-", 0).factory());

  private static final ReentrantLock LOCK = new ReentrantLock();
  private static final Condition NONE_IS_RUNNING = LOCK.newCondition();

  /** The number of calls that have not returned; guarded by the lock. */
  private static int running;

  static {
    Thread atExit = Thread.ofPlatform().name("verbena-exit").unstarted(ClosingThreads::awaitAll);
    try {
      Runtime.getRuntime().addShutdownHook(atExit);
    } catch (IllegalStateException e) {
      // The JVM is ending, and no channel was closed before. Then only close itself waits.
    }
  }

  private ClosingThreads() {}

  /** A call that may wait in C. */
  interface Call {
    void run() throws IOException;
  }

  /**
   * Makes a call in another thread. Returns when it has returned, after a time, or if this thread
   * is interrupted; in the last two cases the call continues.
   */
  static void run(Call call, long nanos) throws IOException {
    FutureTask<Void> task =
        new FutureTask<>(
            () -> {
              call.run();
              return null;
            });
    start(task);
    try {
      if (nanos > 0) {
        task.get(nanos, TimeUnit.NANOSECONDS);
      }
    } catch (TimeoutException e) {
      // The call continues.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      throw failure(e.getCause());
    }
  }

  /** Makes a call in another thread, and does not wait for it. */
  static void start(Runnable call) {
    count(1);
    boolean isStarted = false;
    try {
      THREADS.execute(
          () -> {
            try {
              call.run();
            } finally {
              count(-1);
            }
          });
      isStarted = true;
    } finally {
      if (!isStarted) {
        count(-1);
      }
    }
  }

  private static IOException failure(Throwable cause) {
    return switch (cause) {
      case IOException e -> e;
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      default -> throw new AssertionError(cause);
    };
  }

  private static void count(int change) {
    LOCK.lock();
    try {
      running += change;
      if (running == 0) {
        NONE_IS_RUNNING.signalAll();
      }
    } finally {
      LOCK.unlock();
    }
  }

  /** Waits until no call is running, or the time has passed. */
  private static void awaitAll() {
    long left = LIMIT;
    LOCK.lock();
    try {
      while (running > 0 && left > 0) {
        left = NONE_IS_RUNNING.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // The JVM ends now.
    } finally {
      LOCK.unlock();
    }
  }
}
