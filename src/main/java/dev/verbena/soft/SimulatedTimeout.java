package dev.verbena.soft;

import dev.verbena.internal.time.Simulated;
import dev.verbena.soft.engine.Timer;
import java.util.function.Function;

/**
 * A limit to a wait of a thread of a simulation. Its end is a step of the simulation, in which the
 * thread is interrupted and runs: an interrupt by another thread comes before or afterwards, so
 * that neither is taken for the other. That is not so for a thread whose wait has ended before, and
 * which cannot go on until it has its lock or monitor again.
 */
final class SimulatedTimeout implements Simulated.Timeout, Runnable {
  private final Thread thread;
  private final Timer timer;
  private boolean isCancelled;
  private boolean hasInterrupted;

  SimulatedTimeout(Thread thread, Function<Runnable, Timer> timer) {
    this.thread = thread;
    this.timer = timer.apply(this);
  }

  /** Returns whether the thread has been woken: then it may go on to wait, or end this. */
  boolean comesLater() {
    return !isCancelled && thread.getState() == Thread.State.RUNNABLE;
  }

  /** Interrupts the thread. */
  @Override
  public void run() {
    if (!isCancelled && !thread.isInterrupted()) {
      hasInterrupted = true;
      thread.interrupt();
    }
  }

  @Override
  public boolean hasInterrupted() {
    return hasInterrupted;
  }

  @Override
  public void cancel() {
    timer.stop();
    isCancelled = true;
  }
}
