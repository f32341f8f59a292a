package dev.verbena.soft.engine;

import dev.verbena.internal.foreign.FailureLog;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.wire.NetworkLink;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Does the work of a network in turns: receives packets, runs the tasks that were requested and the
 * timers that expired. Turns are run under the network's lock, which control verbs take, too, so
 * that a device's state is changed by one thread at a time.
 *
 * <p>The network's thread runs turns, and sleeps when there is no work. While a program polls
 * completion queues without pause, its threads run the turns, so that a message need not wait for
 * another thread to be scheduled; the network's thread only checks whether they still poll.
 */
public final class Engine implements AutoCloseable {
  private static final FailureLog FAILURES =
      new FailureLog(Engine.class, "internal error of the software device");

  /** How many tasks are run before the lock is given to control verbs that wait for it. */
  private static final int TURN = 64;

  /** The maximum number of turns with work before expired timers are called. */
  private static final int TURNS_WITHOUT_TIMERS = 64;

  /**
   * How long the network's thread sleeps while programs poll, which is also the longest delay until
   * it takes over.
   */
  private static final long REST_NANOS = 1_000_000;

  /** How long the network's thread rests after a failure: memory may be free then. */
  private static final long REST_AFTER_FAILURE_NANOS = 10_000_000;

  private static final VarHandle REQUESTS;

  static {
    try {
      REQUESTS = MethodHandles.lookup().findVarHandle(Engine.class, "requests", Task.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final TimerQueue timers = new TimerQueue();

  /** Fair, since the engine takes it again as soon as it has given it back. */
  private final ReentrantLock lock = new ReentrantLock(true);

  /** Reports a failure that is not one of another task. */
  private final Task internalError;

  private final NetworkLink link;
  private final Thread thread;

  /** Tasks that other threads requested, the last one first. */
  @SuppressWarnings("unused") // Through REQUESTS.
  private volatile @Nullable Task requests;

  /** Tasks to run, in order. */
  private @Nullable Task first;

  private @Nullable Task last;
  private int turnsWithoutTimers;

  private final Pollers pollers = new Pollers(REST_NANOS);

  private volatile boolean asleep;

  /** Whether it is asleep for a short time and need not be woken, since programs poll. */
  private volatile boolean resting;

  private volatile boolean closed;

  /** How many tasks have failed and could not report it yet. */
  private volatile int failing;

  private long now = Time.now();

  /**
   * Creates an engine.
   *
   * @param link is where packets come from and the thread sleeps
   * @param internalError is called if a timer or the link fails; called again if it fails itself
   */
  public Engine(String name, NetworkLink link, Runnable internalError) {
    this.link = link;
    this.internalError = new FailureReport(internalError);
    thread = Time.daemon().name(name).unstarted(this::loop);
  }

  private static final class FailureReport extends Task {
    private final Runnable report;

    FailureReport(Runnable report) {
      this.report = report;
    }

    /** Does nothing: the failure was reported, and what was connected since is not to fail. */
    @Override
    public boolean run() {
      return false;
    }

    @Override
    public void failed(Throwable t) {
      report.run();
    }
  }

  public void start() {
    thread.start();
  }

  /** Whether an internal error could not be reported yet to those that it concerns. */
  public boolean isFailing() {
    return failing > 0;
  }

  /** Returns the time of the current turn, in nanoseconds. Called under the network's lock. */
  public long now() {
    return now;
  }

  /** Returns the timers that run. Used under the network's lock. */
  public TimerQueue timers() {
    return timers;
  }

  /** Calls under the lock. */
  public <T> T locked(Supplier<T> call) {
    acquire();
    try {
      now = Time.now();
      return call.get();
    } finally {
      release();
      wake(); // It may have started a timer.
    }
  }

  /**
   * Acquires the lock. A virtual thread does not queue for it: it could be the next owner and have
   * no carrier, as all are kept by virtual threads that C called back, and that wait for the lock.
   */
  private void acquire() {
    if (!Thread.currentThread().isVirtual()) {
      lock.lock();
      return;
    }
    while (!lock.tryLock()) {
      Time.park(this, 1);
    }
  }

  /** Calls under the lock. */
  public void locked(Runnable call) {
    locked(
        () -> {
          call.run();
          return null;
        });
  }

  /** Gives the lock back. */
  private void release() {
    try {
      link.flush();
    } catch (Throwable t) {
      failed(t);
    } finally {
      lock.unlock();
    }
  }

  /** Runs a task soon. Any thread may call this; it neither waits nor allocates. */
  public void request(Task task) {
    if (lock.isHeldByCurrentThread()) {
      append(task); // Even if another thread is about to request it, which may not run for long.
    } else if (task.request()) {
      Task head;
      do {
        head = (Task) REQUESTS.getVolatile(this);
        task.nextRequested = head;
      } while (!REQUESTS.compareAndSet(this, head, task));
      wake();
    }
  }

  /** Whether the thread can access a segment. */
  public boolean canAccess(MemorySegment segment) {
    return segment.isAccessibleBy(thread);
  }

  private void wake() {
    if (asleep && !resting) {
      asleep = false;
      link.wake(thread);
    }
  }

  /** Whether the thread sleeps and no task waits. */
  public boolean isIdle() {
    lock.lock();
    try {
      return asleep && requests == null && first == null;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Runs a turn in the thread of a program that has found a completion queue empty, unless another
   * thread uses the network.
   */
  public void turnOfPoller() {
    if (lock.isHeldByCurrentThread() || lock.hasQueuedThreads() || !lock.tryLock()) {
      return;
    }
    boolean unfinished = false;
    try {
      if (!closed) {
        turn();
        unfinished = first != null;
        pollers.turned(now);
      }
    } finally {
      release();
    }
    if (unfinished) {
      wake();
    }
  }

  /** A program stops polling, and waits for an event. */
  public void pollerLeaves() {
    pollers.leave();
    if (resting) {
      resting = false;
      wake();
    }
  }

  private void append(Task task) {
    if (task.isQueued) {
      return;
    }
    task.isQueued = true;
    task.next = null;
    if (first == null) {
      first = task;
    } else {
      last.next = task;
    }
    last = task;
  }

  private void loop() {
    while (!closed) {
      try {
        turnAndSleep();
      } catch (Throwable t) {
        lock.lock();
        try {
          failed(t);
        } finally {
          lock.unlock();
        }
      }
    }
    locked(link::close); // Nobody else waits for it.
  }

  private void turnAndSleep() {
    boolean worked;
    lock.lock();
    try {
      worked = turn();
    } finally {
      release();
    }
    if (failing > 0) {
      link.rest(REST_AFTER_FAILURE_NANOS);
    } else if (!worked) {
      sleep();
    }
  }

  private boolean turn() {
    now = Time.now();
    boolean received = receive();
    boolean worked = received;
    accept();
    for (int run = 0; first != null && run < TURN; run++) {
      worked = true;
      run(takeFirst());
      if (lock.hasQueuedThreads() || failing > 0) {
        break;
      }
    }
    expireTimersInTurn(received);
    return worked || first != null;
  }

  /**
   * Expires timers when there is no other work: the acknowledgment that a timer waits for may have
   * arrived while this thread did not run, and may be behind what this turn received. Not later
   * than after a number of turns, though.
   */
  private void expireTimersInTurn(boolean received) {
    boolean busy = received || first != null || requests != null;
    if (!busy || ++turnsWithoutTimers == TURNS_WITHOUT_TIMERS) {
      turnsWithoutTimers = 0;
      expireTimers();
    }
  }

  private void expireTimers() {
    try {
      timers.expire(now);
    } catch (Throwable t) {
      failed(t);
    }
  }

  private boolean receive() {
    try {
      return link.receive();
    } catch (Throwable t) {
      failed(t);
      return true;
    }
  }

  /** Something failed that is no task. */
  private void failed(Throwable t) {
    failed(internalError, t);
  }

  /** Reports a failure of a task: at once, or in later turns until it is possible. */
  @SuppressWarnings("NonAtomicVolatileUpdate") // Under the lock.
  private void failed(Task task, Throwable t) {
    if (!task.isFailing()) {
      FAILURES.log(t);
      try {
        task.failed(t);
      } catch (Throwable notNow) { // The Java heap is full, most likely: t was logged.
        task.noteFailure(t);
        failing++;
      }
    }
    append(task);
  }

  /** Takes over what other threads requested, in their order. */
  private void accept() {
    Task task = (Task) REQUESTS.getAndSet(this, (Task) null);
    Task ordered = null;
    while (task != null) {
      Task following = task.nextRequested;
      task.nextRequested = ordered;
      ordered = task;
      task = following;
    }
    while (ordered != null) {
      Task following = ordered.nextRequested;
      ordered.accept();
      append(ordered);
      ordered = following;
    }
  }

  private Task takeFirst() {
    Task task = first;
    first = task.next;
    task.next = null;
    task.isQueued = false;
    return task;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // Under the lock.
  private void run(Task task) {
    boolean failed = task.isFailing();
    try {
      if (task.runOrReport()) {
        append(task);
      }
      if (failed) {
        failing--;
      }
    } catch (Throwable t) {
      failed(task, t);
    }
  }

  private void sleep() {
    long wait = Long.MAX_VALUE;
    lock.lock();
    try {
      asleep = true;
      long time = Time.now();
      resting = pollers.arePolling(time);
      if (first != null) {
        wait = 0; // Another thread left it.
      } else if (!timers.isEmpty()) {
        wait = timers.earliest() - time;
      }
    } finally {
      lock.unlock();
    }
    if (wait > 0 && resting) {
      rest();
    } else if (wait > 0 && requests == null && asleep && !closed) {
      link.sleep(wait);
    }
    asleep = false;
    resting = false;
  }

  /**
   * Leaves the work, also that of timers, to programs as long as they poll. Does not take the lock,
   * for which a poller would have to wait until this thread is scheduled.
   */
  private void rest() {
    while (resting && !closed && pollers.arePolling(Time.now())) {
      link.rest(REST_NANOS);
    }
  }

  @Override
  public void close() {
    closed = true;
    link.wake(thread);
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
