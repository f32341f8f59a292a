package dev.verbena.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * What one thread at a time takes into calls of the data path: requests that are posted, or memory
 * that completions are polled into. It tells a thread that closes a queue whether such a call is
 * under way, so that C never works on a queue that is destroyed.
 *
 * <p>The two threads agree without an atomic instruction on the data path. The using thread stores
 * that it is inside ({@link #enter}), then loads whether anything was closed ({@link
 * #isCheckedFor}). The closing thread stores that the queue is closed, orders the loads and stores
 * of all threads by a {@link dev.verbena.internal.ThreadBarrier}, then loads who is inside ({@link
 * #awaitEnd}). So at least one of the two sees the other: the using thread does not call C, or the
 * closing one waits until that call has ended.
 *
 * <p>Both accesses are opaque: neither C1 nor C2 moves them past each other, and the processor may,
 * which is what the barrier is for.
 */
abstract class DataPathUser {
  private static final long PAUSE_NANOS = 1_000;

  private static final VarHandle CALLS;

  static {
    try {
      CALLS =
          MethodHandles.lookup()
              .findVarHandle(DataPathUser.class, "calls", int.class)
              .withInvokeExactBehavior();
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Odd while the using thread is inside a call, and another number for each call. */
  private int calls;

  /** The queue that this was last checked for, and the {@link Resource#closings} of that time. */
  private Resource checkedFor;

  private int checkedAt;

  /** The objects that wait for this when they are closed. */
  private Set<Resource> used;

  /**
   * Begins a call of the data path. Ended by {@link #leave}, whatever happens.
   *
   * @throws IllegalStateException if a call is under way: then another thread uses this as well
   */
  final void enter() {
    int now = calls;
    if ((now & 1) != 0) {
      throw new IllegalStateException(
          "two threads use one "
              + getClass().getSimpleName()
              + " at the same time: each needs one of its own");
    }
    CALLS.setOpaque(this, now + 1);
  }

  /** Ends a call of the data path: all that C did is done before another thread sees this. */
  final void leave() {
    CALLS.setRelease(this, calls + 1);
  }

  /** Waits until the call has ended that is under way, if there is one. */
  final void awaitEnd() {
    int now = (int) CALLS.getAcquire(this);
    if ((now & 1) != 0) {
      while ((int) CALLS.getAcquire(this) == now) {
        LockSupport.parkNanos(PAUSE_NANOS); // A call of the data path takes less than that.
      }
    }
  }

  /** Whether this was checked for a queue, and nothing was closed since. */
  @SuppressWarnings("ReferenceEquality") // A resource equals itself alone.
  final boolean isCheckedFor(Resource queue) {
    return queue == checkedFor && Resource.closings() == checkedAt;
  }

  /**
   * Notes that this was checked for a queue.
   *
   * @param closings what {@link Resource#closings} was before the check began
   */
  final void checked(Resource queue, int closings) {
    checkedFor = queue;
    checkedAt = closings;
  }

  /** Demands a check before the next call. */
  final void forgetCheck() {
    checkedFor = null;
  }

  /**
   * Checks that an object is open whose address C gets in the call that is under way. From now on
   * the object waits for the end of that call, and of later ones, before it is released.
   *
   * @throws IllegalStateException if the object is closed
   */
  final void use(Resource resource) {
    if (used == null) {
      used = Collections.newSetFromMap(new WeakHashMap<>());
    }
    if (used.contains(resource)) {
      resource.requireNotClosing();
    } else {
      resource.add(this);
      used.add(resource);
    }
  }
}
