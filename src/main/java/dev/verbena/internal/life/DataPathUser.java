package dev.verbena.internal.life;

import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.internal.foreign.ThreadBarrier;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * An object that one thread at a time uses in calls of the data path: a list of requests to post,
 * or the array that completions are polled into. A call throws {@link IllegalStateException} if
 * another thread is in a call with the same object. A thread that closes a queue waits for the end
 * of such calls.
 */
public final class DataPathUser {
  /*
   * The two threads synchronize without an atomic instruction on the data path. The using thread
   * stores that it is inside a call (enter), then loads whether anything was closed (isCheckedFor).
   * The closing thread stores that the queue is closed, orders the loads and stores of all threads
   * by a ThreadBarrier, then loads which threads are inside (awaitEnd). So at least one of the two
   * sees the store of the other: the using thread does not call C, or the closing one waits until
   * that call has ended.
   *
   * DataPathEntry is what it stores, and sees to it that one thread uses the object.
   */
  private static final VarHandle ENTRY;

  static {
    try {
      ENTRY =
          MethodHandles.lookup()
              .findVarHandle(DataPathUser.class, "entry", DataPathEntry.class)
              .withInvokeExactBehavior();
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Of the thread that used this object last, or of all threads; null before the first use. */
  private @Nullable DataPathEntry entry;

  /**
   * The queue that this object was last checked for, and the value of {@link Core#closings} at that
   * time.
   */
  private Core checkedFor;

  private int checkedAt;

  /** The objects whose closing waits for this object. */
  private Set<Core> used;

  private final Object owner;

  /**
   * Creates the state of an object that no thread uses.
   *
   * @param owner the object, whose class names it in messages
   */
  public DataPathUser(Object owner) {
    this.owner = owner;
  }

  /**
   * Begins a call of the data path.
   *
   * @return the entry, which this thread must leave at the end of the call
   * @throws IllegalStateException if a call is in progress: another thread uses this object
   */
  public DataPathEntry enter() {
    StackSpace.requireForSection(); // Which leave() needs, too.
    DataPathEntry mine = entry;
    return mine != null && mine.enter() ? mine : enterAtomically();
  }

  private DataPathEntry enterAtomically() {
    DataPathEntry now = (DataPathEntry) ENTRY.getAcquire(this);
    DataPathEntry next = now == null ? DataPathEntry.first() : now.enterAtomically();
    if (next == null || (next != now && !ENTRY.compareAndSet(this, now, next))) {
      throw new IllegalStateException(
          "two threads use one "
              + owner.getClass().getSimpleName()
              + " at the same time"
              + userBeside(Thread.currentThread())
              + ": use one for each thread");
    }
    ThreadBarrier.beforeLoad();
    return next;
  }

  private String userBeside(Thread thread) {
    DataPathEntry now = (DataPathEntry) ENTRY.getAcquire(this);
    Thread user = now == null ? null : now.user();
    return user == null || user.equals(thread) ? "" : ", the other is " + Core.nameOf(user);
  }

  /**
   * Waits until the call that is in progress has ended, if there is one.
   *
   * @param start when the wait began
   * @param nanos the maximum time of the wait
   * @throws IllegalStateException if it has not ended then
   */
  void awaitEnd(Core closing, long start, long nanos) {
    DataPathEntry now = (DataPathEntry) ENTRY.getAcquire(this);
    if (now != null && !now.awaitEnd(start, nanos)) {
      Thread user = now.user();
      throw new IllegalStateException(
          "%s cannot be closed: %s does not return from a call with its %s"
              .formatted(
                  closing,
                  user == null ? "a thread" : "thread " + Core.nameOf(user),
                  owner.getClass().getSimpleName()));
    }
  }

  /** Returns whether this object was checked for a queue, and nothing was closed since. */
  @SuppressWarnings("ReferenceEquality") // A core equals itself alone.
  public boolean isCheckedFor(Core queue) {
    return queue == checkedFor && Core.closings() == checkedAt;
  }

  /**
   * Records that this object was checked for a queue.
   *
   * @param closings the value of {@link Core#closings} before the check
   */
  public void checked(Core queue, int closings) {
    checkedFor = queue;
    checkedAt = closings;
  }

  /** Requires a check before the next call. */
  public void forgetCheck() {
    checkedFor = null;
  }

  /**
   * Checks that an object is open whose address is passed to C in the current call. From now on
   * closing the object waits for the end of that call and of later ones.
   *
   * @throws IllegalStateException if the object is closed
   */
  public void use(Core resource) {
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
