package dev.verbena.soft.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** Work that a network's engine does on request. */
public abstract class Task {
  private static final VarHandle REQUESTED;

  static {
    try {
      REQUESTED = MethodHandles.lookup().findVarHandle(Task.class, "requested", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("unused") // Through REQUESTED.
  private volatile boolean requested;

  /** The next one of the tasks that other threads requested. */
  @Nullable Task nextRequested;

  /** The next one of the tasks to run. */
  @Nullable Task next;

  /** Whether it is among the tasks to run. Used under the network's lock. */
  boolean isQueued;

  /**
   * The error that ended a run and that {@link #failed} is still to be told; null if there is none.
   */
  private @Nullable Throwable failure;

  /** Marks it as requested by another thread; returns true if it was not marked before. */
  public final boolean request() {
    return !(boolean) REQUESTED.getVolatile(this) && REQUESTED.compareAndSet(this, false, true);
  }

  /** Clears the mark: a request from now on leads to another run. */
  final void accept() {
    REQUESTED.setVolatile(this, false);
  }

  /** Whether a run has failed, and {@link #failed} has not returned since. */
  final boolean isFailing() {
    return failure != null;
  }

  final void noteFailure(Throwable t) {
    failure = t;
  }

  /**
   * Runs, or reports the failure of an earlier run.
   *
   * @return whether there is more to do at once
   */
  final boolean runOrReport() {
    if (failure == null) {
      return run();
    }
    failed(failure);
    failure = null;
    return true;
  }

  /**
   * Does a bounded amount of work, under the network's lock.
   *
   * @return whether there is more to do at once
   */
  public abstract boolean run();

  /**
   * Reports an internal error of {@link #run}. Called again later if it fails itself, for example
   * since the Java heap is full.
   */
  public abstract void failed(Throwable t);
}
