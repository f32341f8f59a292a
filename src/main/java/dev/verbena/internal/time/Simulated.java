package dev.verbena.internal.time;

import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** The clock of a simulation, in whose threads the library uses it in place of the machine's. */
public interface Simulated {
  /** Returns whether a thread is of the simulation, and this is not over. */
  boolean has(Thread thread);

  /** Returns the time in nanoseconds, as {@link System#nanoTime} does. */
  long now();

  /**
   * Returns another clock, which is ahead of this one, and faster or slower: from the nanoseconds
   * of this one to its own.
   */
  LongUnaryOperator otherClock();

  /**
   * Runs an action in the simulation after a time. The action does not wait.
   *
   * @return cancels the action
   */
  Runnable after(long nanos, Runnable action);

  /** Begins a limit to a wait of this thread. */
  Timeout timeout(long nanos);

  /** A limit to a wait of a thread, which an interrupt ends. */
  interface Timeout {
    /** Returns whether the thread was interrupted by this. */
    boolean hasInterrupted();

    /** The wait has ended. */
    void cancel();
  }

  /**
   * Returns whether a fault happens for which a device has decided by a random number.
   *
   * @param description says what the fault is
   */
  boolean injects(Supplier<String> description);

  /** Returns its generator of random numbers. */
  RandomGenerator random();

  /**
   * Returns the address by which the next memory region of a length is known to the device and to
   * peers: those of memory are not the same in another run.
   */
  long address(long length);

  /** Returns a builder of a thread of the simulation. */
  Thread.Builder thread();

  /** Lets other threads run, and the time go on. */
  void pause();

  /** Has a source of events looked at when no thread can run. */
  void whenIdle(Source source);

  /** What wakes threads for events from outside of the simulation's queue. */
  interface Source extends AutoCloseable {
    /** Wakes those for whom an event is there, without a wait. */
    void look();

    /** Called at the end of the simulation. */
    @Override
    void close();
  }
}
