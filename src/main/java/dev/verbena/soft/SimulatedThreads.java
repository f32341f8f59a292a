package dev.verbena.soft;

import dev.verbena.internal.time.Time;
import java.lang.reflect.Constructor;
import java.lang.reflect.InaccessibleObjectException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The virtual threads of a simulation, which run in the thread that created this. Threads that they
 * start are of the simulation, too: a virtual thread has the scheduler of the one that starts it.
 */
final class SimulatedThreads implements Executor {
  private static final String BUILDER = "java.lang.ThreadBuilders$VirtualThreadBuilder";
  private static final System.Logger LOGGER = System.getLogger(Simulation.class.getName());
  private static final int FIRST_VERSION = 24; // A thread in a monitor releases its carrier.

  private final Thread carrier = Thread.currentThread();
  private final Constructor<?> builder = builderOfThreads();
  private final List<Runnable> ready = new ArrayList<>();
  private final MonitorWaits monitors = new MonitorWaits();
  final StepLog log = new StepLog();
  private final Thread.UncaughtExceptionHandler before =
      Thread.getDefaultUncaughtExceptionHandler();

  /** What threads that are not of the simulation have woken. */
  private final Queue<Runnable> wokenOutside = new ConcurrentLinkedQueue<>();

  private volatile @Nullable Thread outsider;
  private boolean isRunning;
  private long stepsTime;
  private int steps;
  private long allSteps;

  private static Constructor<?> builderOfThreads() {
    Exception cause = null;
    if (Runtime.version().feature() >= FIRST_VERSION) {
      try {
        Constructor<?> found = Class.forName(BUILDER).getDeclaredConstructor(Executor.class);
        found.setAccessible(true);
        return found;
      } catch (ReflectiveOperationException | InaccessibleObjectException e) {
        cause = e;
      }
    }
    throw new UnsupportedOperationException(
        "a simulation requires JDK 24 or later with --add-opens java.base/java.lang=ALL-UNNAMED,"
            + " or =dev.verbena on the module path",
        cause);
  }

  boolean isCarrier(Thread thread) {
    return thread.equals(carrier);
  }

  Thread.Builder builder() {
    try {
      return (Thread.Builder) builder.newInstance(this);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("the builder of virtual threads", e);
    }
  }

  /** A thread can run, or can run again. */
  @Override
  public void execute(Runnable task) {
    Thread waker = Thread.currentThread();
    if (isCarrier(waker) || (isRunning && waker.isVirtual() && Time.simulation() != null)) {
      ready.add(task);
    } else if (!monitors.ends(waker, task)) {
      outsider = waker;
      wokenOutside.add(task);
    }
  }

  /**
   * Runs one of the threads that can run until it waits.
   *
   * @return false if there is none
   */
  boolean step(Random order, long now) {
    monitors.addTo(ready);
    if (ready.isEmpty()) {
      return false;
    }
    steps = now == stepsTime ? steps + 1 : 0;
    stepsTime = now;
    allSteps++;
    int chosen = order.nextInt(ready.size());
    Runnable task = ready.set(chosen, ready.getLast());
    ready.removeLast();
    if (task instanceof SimulatedTimeout timeout) {
      end(timeout);
    } else {
      run(task);
    }
    return true;
  }

  private void end(SimulatedTimeout timeout) {
    if (timeout.comesLater()) {
      ready.add(timeout);
      return;
    }
    int before = ready.size();
    timeout.run();
    if (ready.size() > before) {
      run(ready.removeLast());
    }
  }

  private void run(Runnable task) {
    monitors.begins(task);
    if (log.isWritten()) {
      log.begins(monitors.threadOf(task));
    }
    do {
      isRunning = true;
      task.run();
      isRunning = false;
    } while (monitors.goesOn(task, ready));
  }

  /** Returns whether a thread can run that waited for a thread outside of the simulation. */
  boolean awaitOutsiders() {
    return monitors.await(ready);
  }

  /** Returns how many steps were made since the time last went on. */
  int steps() {
    return steps;
  }

  void forgetSteps() {
    steps = 0;
  }

  /** Returns how many steps were made. */
  long allSteps() {
    return allSteps;
  }

  /**
   * Lets those go on that threads outside of the simulation have woken.
   *
   * @return what is wrong if there is one; or null
   */
  @Nullable String admitWoken() {
    while (!wokenOutside.isEmpty()) {
      ready.add(wokenOutside.remove());
    }
    return outsider == null
        ? null
        : "the thread "
            + outsider.getName()
            + " has woken an actor from outside the simulation, so that the run cannot be repeated:"
            + " an actor must wait by Simulation.sleep or without a limit, and for other actors"
            + " only";
  }

  /** Has the exceptions reported that no thread of the simulation catches, until it is closed. */
  void onUncaught(Consumer<Throwable> report) {
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, exception) -> {
          if (isRunning && thread.isVirtual() && Time.simulation() != null) {
            report.accept(exception);
          } else if (before != null) {
            before.uncaughtException(thread, exception);
          } else {
            LOGGER.log(System.Logger.Level.ERROR, "in thread " + thread.getName(), exception);
          }
        });
  }

  void close() {
    Thread.setDefaultUncaughtExceptionHandler(before);
  }
}
