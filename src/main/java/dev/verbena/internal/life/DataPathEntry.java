package dev.verbena.internal.life;

import dev.verbena.internal.foreign.ThreadBarrier;
import dev.verbena.internal.time.Time;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/**
 * The mark that a thread is inside a call with a {@link DataPathUser}. At most one thread is inside
 * at any time.
 *
 * <p>An entry belongs to one thread, which enters by a store and a load, without an atomic
 * instruction. Another thread first revokes it: it sets a flag, orders the loads and stores of all
 * threads by a {@link ThreadBarrier}, and then looks whether the owner is inside. Either it sees
 * that the owner is, or the owner sees the flag and does not enter. A user that many threads use in
 * turn gets an entry that is shared, which threads enter by a compare-and-set.
 *
 * <p>The accesses are opaque: neither C1 nor C2 reorders them; the processor may, which the barrier
 * prevents.
 */
public final class DataPathEntry {
  private static final long PAUSE_NANOS = 1_000;

  /** After so many owners the entry of a user is shared: each change of the owner is slow. */
  private static final int MOST_OWNERS = 8;

  private static final VarHandle CALLS;
  private static final VarHandle REVOKED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      CALLS =
          lookup.findVarHandle(DataPathEntry.class, "calls", int.class).withInvokeExactBehavior();
      REVOKED =
          lookup
              .findVarHandle(DataPathEntry.class, "revoked", boolean.class)
              .withInvokeExactBehavior();
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /**
   * The only thread that may enter; null if the entry is shared. Weak, as the entry outlives the
   * thread, which keeps what its task refers to.
   */
  private final @Nullable WeakReference<Thread> owner;

  /** The owner's identifier; 0 if the entry is shared. */
  private final long ownerId;

  /** The number of owners that the user has had. */
  private final int owners;

  /** The thread that is inside, if the entry is shared. */
  private @Nullable Thread user;

  /** Odd while a thread is inside, and different for each call. Only that thread changes it. */
  private int calls = 1;

  @SuppressWarnings("unused") // Through REVOKED.
  private boolean revoked;

  private DataPathEntry(int owners) {
    Thread thread = Thread.currentThread();
    boolean isShared = owners > MOST_OWNERS;
    this.owner = isShared ? null : new WeakReference<>(thread);
    this.ownerId = isShared ? 0 : thread.threadId();
    this.user = isShared ? thread : null;
    this.owners = owners;
  }

  /** Returns an entry of this thread, which is inside. */
  static DataPathEntry first() {
    return new DataPathEntry(1);
  }

  /** Enters, if the entry belongs to this thread. */
  boolean enter() {
    if (Thread.currentThread().threadId() != ownerId) {
      return false;
    }
    // Odd also if an error, such as a StackOverflowError, prevented the end of the call before.
    CALLS.setOpaque(this, (calls + 1) | 1);
    ThreadBarrier.beforeLoad();
    if ((boolean) REVOKED.getOpaque(this)) {
      leave();
      return false;
    }
    return true;
  }

  /** Ends the call: its effects are visible to a thread that sees this. */
  public void leave() {
    if (ownerId == 0) {
      user = null;
    }
    CALLS.setRelease(this, (calls | 1) + 1);
  }

  /**
   * Enters by an atomic instruction, which may require another entry.
   *
   * @return the entry that this thread is inside of; null if another thread is inside this one
   */
  @Nullable DataPathEntry enterAtomically() {
    if (owner == null) {
      return enterShared() ? this : null;
    }
    DataPathEntry next = new DataPathEntry(owners + 1);
    return revoke() ? next : null;
  }

  private boolean enterShared() {
    int now = (int) CALLS.getAcquire(this);
    if (isOdd(now) || !CALLS.compareAndSet(this, now, now + 1)) {
      return false;
    }
    user = Thread.currentThread();
    return true;
  }

  private boolean revoke() {
    if (!REVOKED.compareAndSet(this, false, true)) {
      return false; // Another thread does so at the same time.
    }
    boolean isRevoked = false;
    try {
      ThreadBarrier.run();
      isRevoked = !isOtherInside((int) CALLS.getAcquire(this));
    } finally {
      if (!isRevoked) {
        REVOKED.setRelease(this, false);
      }
    }
    return isRevoked;
  }

  private static boolean isOdd(int calls) {
    return (calls & 1) != 0;
  }

  /** Returns whether another thread is inside; the owner is not if it has terminated. */
  private boolean isOtherInside(int calls) {
    return isOdd(calls)
        && (owner == null || (ownerId != Thread.currentThread().threadId() && isOwnerAlive()));
  }

  private boolean isOwnerAlive() {
    Thread thread = owner.get();
    return thread != null && thread.isAlive();
  }

  /** Returns the owner or, if the entry is shared, the thread that is inside; null if none is. */
  @Nullable Thread user() {
    return owner == null ? user : owner.get();
  }

  /**
   * Waits until the call that is in progress has ended, if there is one of another thread.
   *
   * @param start when the wait began
   * @param nanos the maximum time of the wait
   * @return whether it has ended in time
   */
  boolean awaitEnd(long start, long nanos) {
    int now = (int) CALLS.getAcquire(this);
    while (isOtherInside(now) && (int) CALLS.getAcquire(this) == now) {
      if (Time.now() - start > nanos) {
        return false;
      }
      Time.park(PAUSE_NANOS); // A call of the data path takes less than that.
    }
    return true;
  }
}
