package dev.verbena.soft;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Does the work of a network in turns: receives packets, runs the tasks that were requested and the
 * timers that expired. Turns are run under the network's lock, which control verbs take, too, so
 * that a device's state is changed by one thread at a time.
 *
 * <p>The network's thread runs turns, and sleeps when there is no work. While a program polls
 * completion queues without pause, its threads run the turns, so that a message need not wait for
 * another thread to be scheduled; the network's thread only checks whether they still poll.
 */
final class Engine implements AutoCloseable {
  private static final System.Logger LOGGER = System.getLogger(Engine.class.getName());

  /** How many tasks are run before the lock is given to control verbs that wait for it. */
  private static final int TURN = 64;

  /** The maximum number of turns with work before expired timers are called. */
  private static final int TURNS_WITHOUT_TIMERS = 64;

  /** The number of consecutive turns after which a program is taken to poll without pause. */
  private static final int TURNS_OF_POLLERS = 64;

  /** A longer time between two turns is a pause. */
  private static final long PAUSE_NANOS = 200_000;

  /**
   * How long the network's thread sleeps while programs poll, which is also the longest delay until
   * it takes over.
   */
  private static final long REST_NANOS = 1_000_000;

  private static final VarHandle REQUESTS;

  static {
    try {
      REQUESTS = MethodHandles.lookup().findVarHandle(Engine.class, "requests", Task.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final TimerQueue timers = new TimerQueue();
  final PacketPool packets = new PacketPool();

  /** Fair, since the engine takes it again as soon as it has given it back. */
  private final ReentrantLock lock = new ReentrantLock(true);

  private final Runnable internalError;
  private final Link link;
  private final Thread thread;

  /** Tasks that other threads requested, the last one first. */
  @SuppressWarnings("unused") // Through REQUESTS.
  private volatile Task requests;

  /** Tasks to run, in order. */
  private Task first;

  private Task last;
  private int turnsWithoutTimers;

  /** How many turns programs have run without pause, and when the last one was. */
  private volatile int turnsOfPollers;

  private volatile long lastTurnOfPollers = System.nanoTime() - REST_NANOS;

  /** Whether programs poll without pause. */
  private volatile boolean polled;

  private volatile boolean asleep;

  /** Whether it is asleep for a short time and need not be woken, since programs poll. */
  private volatile boolean resting;

  private volatile boolean closed;
  private long now = System.nanoTime();

  /**
   * Creates an engine.
   *
   * @param link is where packets come from and the thread sleeps
   * @param internalError is called if a timer fails
   */
  Engine(String name, Link link, Runnable internalError) {
    this.link = link;
    this.internalError = internalError;
    thread = Thread.ofPlatform().daemon().name(name).unstarted(this::loop);
  }

  void start() {
    thread.start();
  }

  /** The time of the current turn, in nanoseconds. */
  long now() {
    return now;
  }

  /** Calls under the lock. */
  <T> T locked(Supplier<T> call) {
    lock.lock();
    try {
      now = System.nanoTime();
      return call.get();
    } finally {
      link.flush();
      lock.unlock();
      wake(); // It may have started a timer.
    }
  }

  /** Calls under the lock. */
  void locked(Runnable call) {
    locked(
        () -> {
          call.run();
          return null;
        });
  }

  /**
   * Requests that a task is run in the next turn. Any thread may call this; it neither waits nor
   * allocates.
   */
  void request(Task task) {
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
  boolean canAccess(MemorySegment segment) {
    return segment.isAccessibleBy(thread);
  }

  private void wake() {
    if (asleep && !resting) {
      asleep = false;
      link.wake(thread);
    }
  }

  /** Whether the thread sleeps and no task waits. */
  boolean isIdle() {
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
  void turnOfPoller() {
    if (lock.isHeldByCurrentThread() || lock.hasQueuedThreads() || !lock.tryLock()) {
      return;
    }
    boolean unfinished = false;
    try {
      if (!closed) {
        turn();
        unfinished = first != null;
        boolean paused = now - lastTurnOfPollers > PAUSE_NANOS;
        lastTurnOfPollers = now;
        turnsOfPollers = paused ? 0 : turnsOfPollers + 1;
        if (turnsOfPollers >= TURNS_OF_POLLERS) {
          polled = true;
        }
      }
    } finally {
      link.flush();
      lock.unlock();
    }
    if (unfinished) {
      wake();
    }
  }

  /** A program stops polling, and waits for an event. */
  void pollerLeaves() {
    polled = false;
    turnsOfPollers = 0;
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
      boolean worked;
      lock.lock();
      try {
        worked = turn();
      } finally {
        link.flush();
        lock.unlock();
      }
      if (!worked) {
        sleep();
      }
    }
    locked(link::close); // Nobody else waits for it.
  }

  private boolean turn() {
    now = System.nanoTime();
    boolean received = receive();
    boolean worked = received;
    accept();
    for (int run = 0; first != null && run < TURN; run++) {
      worked = true;
      run(takeFirst());
      if (lock.hasQueuedThreads()) {
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
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  private boolean receive() {
    try {
      return link.receive();
    } catch (RuntimeException | Error e) {
      failed(e);
      return true;
    }
  }

  private void failed(Throwable t) {
    LOGGER.log(System.Logger.Level.ERROR, "internal error of the software device", t);
    internalError.run();
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

  private void run(Task task) {
    try {
      if (task.run()) {
        append(task);
      }
    } catch (RuntimeException | Error e) {
      LOGGER.log(System.Logger.Level.ERROR, "internal error of the software device", e);
      task.failed(e);
    }
  }

  private void sleep() {
    long wait = Long.MAX_VALUE;
    lock.lock();
    try {
      asleep = true;
      long time = System.nanoTime();
      if (hasPaused(time)) {
        polled = false;
      }
      resting = polled;
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
    while (resting && polled && !closed && !hasPaused(System.nanoTime())) {
      link.rest(REST_NANOS);
    }
  }

  private boolean hasPaused(long time) {
    return time - lastTurnOfPollers > REST_NANOS;
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
