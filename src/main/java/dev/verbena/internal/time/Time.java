package dev.verbena.internal.time;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The clock of the library, its waits that end with the time, its random numbers and its platform
 * threads: those of the machine or, in the threads of a simulation, those of the simulation. A wait
 * without a limit needs nothing of this class: the threads of a simulation are virtual, and a
 * virtual thread that waits lets others run.
 *
 * <p>Times are in nanoseconds; {@link Long#MAX_VALUE} is no limit, and a time that is not positive
 * is no wait.
 */
public final class Time {
  /** False until a simulation exists: so the clock of the machine costs no more than before. */
  private static boolean isAnySimulated;

  private static final InheritableThreadLocal<@Nullable Simulated> SIMULATION =
      new InheritableThreadLocal<>();

  private interface Wait {
    void run() throws InterruptedException;
  }

  private Time() {}

  /** Runs an action in a simulation; the threads that it starts belong to the simulation, too. */
  public static void simulate(Simulated simulation, Runnable action) {
    Simulated outer = SIMULATION.get();
    isAnySimulated = true;
    SIMULATION.set(simulation);
    try {
      action.run();
    } finally {
      SIMULATION.set(outer);
    }
  }

  /** Returns the simulation of this thread; null if it has none. */
  public static @Nullable Simulated simulation() {
    if (!isAnySimulated) {
      return null;
    }
    Simulated simulation = SIMULATION.get(); // Also that of a thread which outlives it.
    return simulation != null && simulation.has(Thread.currentThread()) ? simulation : null;
  }

  /** Returns the time, as {@link System#nanoTime} does. */
  public static long now() {
    Simulated simulation = simulation();
    return simulation == null ? System.nanoTime() : simulation.now();
  }

  /** Returns the nanoseconds since 1970, by the wall clock. */
  public static long wallClock() {
    if (simulation() != null) {
      return now();
    }
    Instant now = Instant.now();
    return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
  }

  /** Returns a generator of random numbers; in a simulation, that of the simulation. */
  public static RandomGenerator random(RandomGenerator generator) {
    Simulated simulation = simulation();
    return simulation == null ? generator : simulation.random();
  }

  /**
   * Returns whether a fault happens for which a device has decided by a random number: always, if
   * this is no simulation, which may be repeated with some of its faults.
   */
  public static boolean injects(Supplier<String> description) {
    Simulated simulation = simulation();
    return simulation == null || simulation.injects(description);
  }

  /** Returns a builder of a thread that needs no carrier of virtual threads. */
  public static Thread.Builder daemon() {
    Simulated simulation = simulation();
    return simulation == null ? Thread.ofPlatform().daemon() : simulation.thread();
  }

  /** Runs an action in one of a few platform threads; it must not wait for another action. */
  public static void start(String name, Runnable action) {
    Simulated simulation = simulation();
    if (simulation == null) {
      Actions.THREADS.execute(
          () -> {
            Thread.currentThread().setName(name);
            action.run();
          });
    } else {
      simulation.thread().name(name).start(action);
    }
  }

  /** Threads that run one action after the other: to start one takes longer than most actions. */
  private static final class Actions {
    static final int MOST = 32;
    static final ThreadPoolExecutor THREADS =
        new ThreadPoolExecutor(
            MOST,
            MOST,
            1,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), // At most two actions for each connection.
            Thread.ofPlatform()
                .daemon()
                .name("verbena-action-", 0)
                .inheritInheritableThreadLocals(false)
                .factory());

    static {
      THREADS.allowCoreThreadTimeOut(true); // After so long without an action.
    }
  }

  /** Runs an action after a time; the action does not wait. */
  public static void after(long nanos, Runnable action) {
    Simulated simulation = simulation();
    if (simulation == null) {
      CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, Runnable::run).execute(action);
    } else {
      // In a thread of the simulation, as are the threads that the action starts.
      Runnable _ = simulation.after(nanos, () -> simulation.thread().start(action));
    }
  }

  /** Between two looks of a loop that waits for another thread or for the device. */
  public static void pause() {
    Simulated simulation = simulation();
    if (simulation == null) {
      Thread.onSpinWait();
    } else {
      simulation.pause();
    }
  }

  /** A poll found nothing: in a simulation, as {@link #pause}; otherwise nothing. */
  public static void pauseOfPoller() {
    Simulated simulation = simulation();
    if (simulation != null) {
      simulation.pause();
    }
  }

  /** As {@link #pause}, and lets other threads have the processor. */
  @SuppressWarnings("ThreadPriorityCheck") // Callers rely on it for speed only.
  public static void yieldProcessor() {
    Simulated simulation = simulation();
    if (simulation == null) {
      Thread.yield();
    } else {
      simulation.pause();
    }
  }

  /** As {@link LockSupport#parkNanos(long)}. */
  public static void park(long nanos) {
    park(null, nanos);
  }

  /** As {@link LockSupport#parkNanos(Object, long)}. */
  public static void park(@Nullable Object blocker, long nanos) {
    Simulated simulation = simulation();
    if (simulation == null) {
      LockSupport.parkNanos(blocker, nanos);
    } else if (nanos == Long.MAX_VALUE) {
      LockSupport.park(blocker);
    } else if (nanos > 0) {
      Thread thread = Thread.currentThread();
      Runnable cancel = simulation.after(nanos, () -> LockSupport.unpark(thread));
      LockSupport.park(blocker);
      cancel.run();
    }
  }

  /** As {@link Thread#sleep(Duration)}. */
  public static void sleep(long nanos) throws InterruptedException {
    Simulated simulation = simulation();
    if (simulation == null) {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } else if (nanos > 0) {
      boolean _ = isDone(simulation, nanos, () -> new CountDownLatch(1).await());
    }
  }

  /** As {@link Condition#awaitNanos}. */
  @SuppressWarnings("WaitNotInLoop") // The caller's loop.
  public static long await(Condition condition, long nanos) throws InterruptedException {
    Simulated simulation = simulation();
    if (simulation == null || nanos <= 0) {
      return condition.awaitNanos(nanos);
    }
    long start = simulation.now();
    boolean _ = isDone(simulation, nanos, condition::await);
    return nanos == Long.MAX_VALUE ? nanos : nanos - (simulation.now() - start);
  }

  /** As {@link ReentrantLock#tryLock(long, TimeUnit)}. */
  public static boolean tryLock(ReentrantLock lock, long nanos) throws InterruptedException {
    Simulated simulation = simulation();
    return (simulation == null || nanos <= 0)
        ? lock.tryLock(nanos, TimeUnit.NANOSECONDS)
        : isDone(simulation, nanos, lock::lockInterruptibly);
  }

  /** As {@link BlockingQueue#poll(long, TimeUnit)}. */
  public static <T> @Nullable T poll(BlockingQueue<T> queue, long nanos)
      throws InterruptedException {
    Simulated simulation = simulation();
    if (simulation == null || nanos <= 0) {
      return queue.poll(nanos, TimeUnit.NANOSECONDS);
    }
    @SuppressWarnings({"unchecked", "rawtypes"})
    T[] taken = (T[]) new Object[1];
    boolean _ = isDone(simulation, nanos, () -> taken[0] = queue.take());
    return taken[0];
  }

  /** As {@link CountDownLatch#await(long, TimeUnit)}. */
  public static boolean await(CountDownLatch latch, long nanos) throws InterruptedException {
    Simulated simulation = simulation();
    return (simulation == null || nanos <= 0)
        ? latch.await(nanos, TimeUnit.NANOSECONDS)
        : isDone(simulation, nanos, latch::await);
  }

  /** As {@link Future#get(long, TimeUnit)}. */
  public static <T> T get(Future<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    Simulated simulation = simulation();
    if (simulation == null || nanos <= 0) {
      return future.get(nanos, TimeUnit.NANOSECONDS);
    }
    boolean _ = isDone(simulation, nanos, () -> awaitEnd(future));
    return future.get(0, TimeUnit.NANOSECONDS);
  }

  private static void awaitEnd(Future<?> future) throws InterruptedException {
    try {
      Object _ = future.get();
    } catch (ExecutionException e) {
      // The caller asks again.
    }
  }

  /** As {@link Thread#join(Duration)}. */
  public static boolean join(Thread thread, Duration limit) throws InterruptedException {
    Simulated simulation = simulation();
    return (simulation == null || !limit.isPositive())
        ? thread.join(limit)
        : isDone(simulation, TimeUnit.NANOSECONDS.convert(limit), thread::join);
  }

  /** As {@link Object#wait(long)}. */
  @SuppressWarnings("WaitNotInLoop") // The caller's loop.
  public static void wait(Object monitor, long nanos) throws InterruptedException {
    Simulated simulation = simulation();
    if (nanos <= 0) {
      return;
    }
    if (simulation == null) {
      monitor.wait(nanos == Long.MAX_VALUE ? 0 : Math.ceilDiv(nanos, 1_000_000)); // 0: no limit
    } else {
      boolean _ = isDone(simulation, nanos, monitor::wait);
    }
  }

  /** Returns whether a wait has ended within a time; the simulation interrupts it otherwise. */
  private static boolean isDone(Simulated simulation, long nanos, Wait wait)
      throws InterruptedException {
    if (nanos == Long.MAX_VALUE) {
      wait.run();
      return true;
    }
    Simulated.Timeout timeout = simulation.timeout(nanos);
    try {
      wait.run();
    } catch (InterruptedException e) {
      if (timeout.hasInterrupted()) {
        return false;
      }
      throw e;
    } finally {
      timeout.cancel();
    }
    if (timeout.hasInterrupted()) { // The wait had ended already.
      boolean _ = Thread.interrupted();
    }
    return true;
  }
}
