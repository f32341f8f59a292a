package dev.verbena.internal.mlx5;

import dev.verbena.internal.foreign.ThreadBarrier;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The lock of a queue for the few instructions of a post or a poll. A thread that has it runs no
 * code of the program and does not block.
 *
 * <p>It belongs to the thread that used the queue last, which locks it by a store and a load,
 * without an atomic instruction. Another thread takes it away by a {@link ThreadBarrier}, as a
 * {@link dev.verbena.internal.life.DataPathEntry}, and owns it then. A lock that has had many
 * owners belongs to a queue that threads use in turn: from then on it is a {@link SpinLock}.
 */
@SuppressWarnings("ReferenceEquality") // A thread, and SHARED, equals itself alone.
final class QueueLock {
  /** Each change of the owner takes some microseconds. */
  private static final int MOST_OWNERS = 8;

  /** How often a thread looks whether the owner has left, before it lets other threads run. */
  private static final int SPINS = 1000;

  /** Whether a barrier in all threads also empties the write-combining buffers of processors. */
  private static final boolean EMPTIES_BUFFERS = ThreadBarrier.interruptsProcessors();

  /** Of a lock that is shared. */
  private static final Turn SHARED = new Turn(null);

  private static final VarHandle INSIDE;
  private static final VarHandle REVOKED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      INSIDE = lookup.findVarHandle(Turn.class, "inside", int.class).withInvokeExactBehavior();
      REVOKED =
          lookup.findVarHandle(Turn.class, "revoked", boolean.class).withInvokeExactBehavior();
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** The time for which one thread owns the lock. */
  private static final class Turn {
    /** Null if no thread does. */
    final @Nullable Thread owner;

    /** Not 0 while the owner has the lock. */
    @SuppressWarnings("unused") // Through INSIDE.
    private int inside;

    @SuppressWarnings("unused") // Through REVOKED.
    private boolean revoked;

    Turn(@Nullable Thread owner) {
      this.owner = owner;
    }

    /** Returns false if another thread has revoked the turn, or is about to. */
    boolean enter() {
      INSIDE.setOpaque(this, 1);
      if ((boolean) REVOKED.getAcquire(this)) {
        leave();
        return false;
      }
      return true;
    }

    void leave() {
      INSIDE.setRelease(this, 0);
    }

    boolean isInside() {
      return (int) INSIDE.getAcquire(this) != 0;
    }

    /** Returns whether the owner, which does not enter again, has left after a short wait. */
    boolean awaitEnd() {
      for (int i = 0; i < SPINS && isInside(); i++) {
        Thread.onSpinWait();
      }
      return !isInside();
    }
  }

  /** Had by each thread that is not the owner, for as long as it has this lock or becomes owner. */
  private final SpinLock others = new SpinLock();

  /** Changed by a thread that has {@link #others}, while the owner is outside and revoked. */
  private Turn turn = new Turn(null);

  /** The number of owners so far; guarded by {@link #others}. */
  private int owners;

  /** Locks, for a thread that may do so again soon. */
  void lock() {
    Turn now = turn;
    if (now.owner != Thread.currentThread() || !now.enter()) {
      own();
    }
  }

  private void own() {
    if (turn == SHARED) { // No turn is needed.
      others.lock();
      return;
    }
    Turn next = new Turn(Thread.currentThread());
    lockOnce();
    Turn now = turn;
    if (now == SHARED) {
      return;
    }
    if (now.owner == next.owner) { // It was revoked for a moment.
      next = now;
    } else if (owners == MOST_OWNERS) {
      turn = SHARED;
      return;
    } else {
      owners++;
    }
    INSIDE.setOpaque(next, 1);
    turn = next;
    others.unlock();
  }

  void unlock() {
    Turn mine = turn;
    if (mine == SHARED) {
      others.unlock();
    } else {
      mine.leave();
    }
  }

  /** Unlocks by a locked instruction, after all stores to a device: see {@link Doorbell}. */
  void flushAndUnlock() {
    Turn mine = turn;
    if (mine == SHARED) {
      others.flushAndUnlock();
    } else {
      int _ = (int) INSIDE.getAndSet(mine, 0);
    }
  }

  /**
   * Unlocks after stores that fill write-combining buffers: the processor empties these by itself.
   * Without a locked instruction, unless the next thread may store to the same registers before.
   */
  void unlockFilled() {
    Turn mine = turn;
    if (mine == SHARED || !EMPTIES_BUFFERS) {
      flushAndUnlock();
    } else {
      mine.leave();
    }
  }

  /**
   * Locks without becoming the owner, for a call that is no post or poll; allocates nothing. {@link
   * #unlockOnce} follows.
   */
  @SuppressWarnings("ThreadPriorityCheck") // Only when the owner may have lost its processor.
  void lockOnce() {
    others.lock();
    while (!revoke(turn)) {
      others.unlock(); // A virtual thread that yields may not run for long.
      Thread.yield();
      others.lock();
    }
  }

  /**
   * Returns true when the owner is outside, which it stays until {@link #unlockOnce}; false if it
   * is inside for long.
   */
  private boolean revoke(Turn now) {
    if (now.owner == null || now.owner == Thread.currentThread()) {
      return true;
    }
    boolean isOutside;
    try {
      REVOKED.setOpaque(now, true);
      ThreadBarrier.run();
      isOutside = now.awaitEnd();
      ThreadBarrier.run(); // What the owner stored to a device before it left has arrived there.
    } catch (Throwable t) {
      unlockOnce();
      throw t;
    }
    if (!isOutside) {
      REVOKED.setRelease(now, false);
    }
    return isOutside;
  }

  void unlockOnce() {
    REVOKED.setRelease(turn, false);
    others.unlock();
  }
}
