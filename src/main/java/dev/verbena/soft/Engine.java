package dev.verbena.soft;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * The thread of a network: runs the tasks that were requested and the timers that expired, under
 * the network's lock, and sleeps when there are none. Control verbs take the same lock in the
 * caller's thread, so that a device's state is changed by one thread at a time.
 */
final class Engine implements AutoCloseable {
  private static final System.Logger LOGGER = System.getLogger(Engine.class.getName());

  /** How many tasks are run before the lock is given to control verbs that wait for it. */
  private static final int TURN = 64;

  /** How many turns with work come before timers, at most. */
  private static final int TURNS_WITHOUT_TIMERS = 64;

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
  private volatile boolean asleep;
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

  /** Has a task run soon. Any thread may call this; it neither waits nor allocates. */
  void request(Task task) {
    if (Thread.currentThread().equals(thread)) {
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
    if (asleep) {
      asleep = false;
      link.wake(thread);
    }
  }

  /** Whether the thread sleeps and no task waits. */
  boolean isIdle() {
    return requests == null && asleep; // In this order: what is no longer requested runs.
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
      if (!timers.isEmpty()) {
        wait = timers.earliest() - System.nanoTime();
      }
    } finally {
      lock.unlock();
    }
    if (wait > 0 && requests == null && asleep && !closed) {
      link.sleep(wait);
    }
    asleep = false;
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
