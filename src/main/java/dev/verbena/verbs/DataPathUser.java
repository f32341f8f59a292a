package dev.verbena.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * An object that one thread at a time uses in calls of the data path: a list of requests to post,
 * or the array that completions are polled into. It lets a thread that closes a queue find out
 * whether such a call is in progress, so that C never works on a queue that is destroyed.
 *
 * <p>The two threads synchronize without an atomic instruction on the data path. The using thread
 * stores that it is inside a call ({@link #enter}), then loads whether anything was closed ({@link
 * #isCheckedFor}). The closing thread stores that the queue is closed, orders the loads and stores
 * of all threads by a {@link dev.verbena.internal.ThreadBarrier}, then loads which threads are
 * inside ({@link #awaitEnd}). So at least one of the two sees the store of the other: the using
 * thread does not call C, or the closing one waits until that call has ended.
 *
 * <p>Both accesses are opaque: neither C1 nor C2 reorders them; the processor may, which the
 * barrier prevents.
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

  /** Odd while the using thread is inside a call, and different for each call. */
  private int calls;

  /**
   * The queue that this object was last checked for, and the value of {@link Resource#closings} at
   * that time.
   */
  private Resource checkedFor;

  private int checkedAt;

  /** The objects whose closing waits for this object. */
  private Set<Resource> used;

  /**
   * Begins a call of the data path, which {@link #leave} must end.
   *
   * @throws IllegalStateException if a call is in progress: another thread uses this object
   */
  final void enter() {
    int now = calls;
    if ((now & 1) != 0) {
      throw new IllegalStateException(
          "two threads use one "
              + getClass().getSimpleName()
              + " at the same time: use one for each thread");
    }
    CALLS.setOpaque(this, now + 1);
  }

  /** Ends a call of the data path: its effects are visible to a thread that sees this. */
  final void leave() {
    CALLS.setRelease(this, calls + 1);
  }

  /** Waits until the call that is in progress has ended, if there is one. */
  final void awaitEnd() {
    int now = (int) CALLS.getAcquire(this);
    if ((now & 1) != 0) {
      while ((int) CALLS.getAcquire(this) == now) {
        LockSupport.parkNanos(PAUSE_NANOS); // A call of the data path takes less than that.
      }
    }
  }

  /** Returns whether this object was checked for a queue, and nothing was closed since. */
  @SuppressWarnings("ReferenceEquality") // A resource equals itself alone.
  final boolean isCheckedFor(Resource queue) {
    return queue == checkedFor && Resource.closings() == checkedAt;
  }

  /**
   * Records that this object was checked for a queue.
   *
   * @param closings the value of {@link Resource#closings} before the check
   */
  final void checked(Resource queue, int closings) {
    checkedFor = queue;
    checkedAt = closings;
  }

  /** Requires a check before the next call. */
  final void forgetCheck() {
    checkedFor = null;
  }

  /**
   * Checks that an object is open whose address is passed to C in the current call. From now on
   * closing the object waits for the end of that call and of later ones.
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
