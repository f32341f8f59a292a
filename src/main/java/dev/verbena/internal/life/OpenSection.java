package dev.verbena.internal.life;

import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.internal.time.Time;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A section of calls on a queue that one thread at a time has open: a {@code Posting}, or the
 * polling by a {@code CompletionCursor}. The provider may hold a lock of the queue for this thread
 * from one call to the next, and all other threads that need the lock would wait for it.
 */
public final class OpenSection {
  /** Much longer than a section should be open, since the provider holds a lock for as long. */
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private static final long PAUSE = TimeUnit.MICROSECONDS.toNanos(50);
  private static final VarHandle OWNER;

  static {
    try {
      OWNER =
          MethodHandles.lookup()
              .findVarHandle(OpenSection.class, "owner", Thread.class)
              .withInvokeExactBehavior();
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String name;
  private final Core queue;
  private final Runnable end;

  /** The thread that has the section open. */
  private @Nullable Thread owner;

  /**
   * A section that no thread has open.
   *
   * @param name what it is called in messages
   * @param queue the object that cannot be closed while a thread has the section open
   * @param end ends the section of the calling thread
   */
  public OpenSection(String name, Core queue, Runnable end) {
    this.name = name;
    this.queue = queue;
    this.end = end;
  }

  /** Opens the section for this thread. */
  public void open() {
    StackSpace.requireForSection(); // Which its end needs, too.
    if (!tryOpen() && !(endIfAbandoned() && tryOpen())) {
      throw new IllegalStateException("the " + name + " of " + queue + " is already open");
    }
    try {
      // After the owner was set: closing sets its state first, and then looks for an owner.
      queue.requireNotClosing();
    } catch (RuntimeException | Error e) {
      release();
      throw e;
    }
  }

  private boolean tryOpen() {
    return OWNER.compareAndSet(this, (Thread) null, Thread.currentThread());
  }

  /** Lets other threads open the section. */
  public void release() {
    OWNER.setRelease(this, (Thread) null);
  }

  /** Returns whether a thread has the section open. */
  public boolean isOpen() {
    return owner != null;
  }

  /** Returns whether this thread has the section open. */
  public boolean isOpenHere() {
    return Thread.currentThread().equals(owner);
  }

  /** Throws an exception if this thread does not have the section open. */
  public void requireOpenHere() {
    if (BoundsChecks.ON && !isOpenHere()) {
      throw new IllegalStateException("this thread has no open " + name + " on " + queue);
    }
  }

  /**
   * Ends the section of a thread that terminated without ending it.
   *
   * @return whether this thread ended it
   */
  public boolean endIfAbandoned() {
    Thread thread = (Thread) OWNER.getAcquire(this);
    if (thread == null
        || thread.isAlive()
        || !OWNER.compareAndSet(this, thread, Thread.currentThread())) {
      return false;
    }
    end.run();
    return true;
  }

  /**
   * Waits until no thread has the section open. None can open it meanwhile, since the queue is
   * being closed.
   *
   * @throws IllegalStateException if this thread has it open, or another one does not end it
   */
  public void requireEnded() {
    long start = Time.now();
    while (true) {
      endIfAbandoned();
      Thread thread = (Thread) OWNER.getAcquire(this);
      if (thread == null) {
        return;
      }
      if (thread.equals(Thread.currentThread()) || Time.now() - start > LIMIT.toNanos()) {
        throw new IllegalStateException(
            queue + " cannot be closed: its " + name + " is open in thread " + Core.nameOf(thread));
      }
      Time.park(PAUSE);
    }
  }
}
