package dev.verbena.soft;

import java.lang.reflect.Field;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The virtual threads of a simulation that wait for a monitor: to enter it, or to be notified. The
 * JVM has a thread of its own which lets them go on, some time after the monitor was released. This
 * waits for it: otherwise the order of the threads would depend on it.
 */
final class MonitorWaits {
  /**
   * How often to look whether a thread that does not belong to the simulation has the monitor, such
   * as the cleaner of the JDK, and so for a short time: this thread first spins, then sleeps.
   */
  private static final int LOOKS = 1_100;

  private static final int SPINS = 1_000;
  private static final long PAUSE_NANOS = 100_000;

  /** How often to look, with pauses, when no other thread can run: for 10 seconds. */
  private static final int LAST_LOOKS = 100_000;

  private final Field state = field("state");
  private final Field onList = field("onWaitingList");
  private final int blocked = (int) get(field("BLOCKED"), null);
  private final int unblocked = (int) get(field("UNBLOCKED"), null);
  private final int waits = (int) get(field("WAIT"), null);
  private final int waitsWithLimit = (int) get(field("TIMED_WAIT"), null);

  private final Set<Thread> platform = Thread.getAllStackTraces().keySet();

  /** The thread of the JVM. */
  private final Thread unblocker =
      platform.stream()
          .filter(found -> found.getName().equals("VirtualThread-unblocker"))
          .findFirst()
          .orElseThrow();

  /** Threads of the JDK that have monitors for a moment, to free what is not used any more. */
  private final List<Thread> cleaners =
      platform.stream()
          .filter(found -> found.getName().matches("Reference Handler|Common-Cleaner|Cleaner-\\d+"))
          .toList();

  private @Nullable Field thread;

  /** In the order in which they began to wait. */
  private final Set<Runnable> waiting = new LinkedHashSet<>();

  private final Set<Runnable> ended = ConcurrentHashMap.newKeySet();

  private static Field field(String name) {
    try {
      Field found = Class.forName("java.lang.VirtualThread").getDeclaredField(name);
      found.setAccessible(true);
      return found;
    } catch (ReflectiveOperationException e) {
      throw new UnsupportedOperationException("virtual threads of this JVM are unknown", e);
    }
  }

  private static Object get(Field field, Object owner) {
    try {
      return field.get(owner);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("the state of virtual threads", e);
    }
  }

  /** Returns the virtual thread that a task of its scheduler runs: the only field of the task. */
  Thread threadOf(Runnable task) {
    if (thread == null) {
      thread = task.getClass().getDeclaredFields()[0];
      thread.setAccessible(true);
    }
    return (Thread) get(thread, task);
  }

  private boolean isIn(Object thread, int one, int other) {
    int now = (int) get(state, thread);
    return now == one || now == other;
  }

  /** Waits until the thread of the JVM has nothing to do for a thread. */
  private void settle(Object thread) {
    while (isChosen(thread) || !isIdle()) {
      Thread.onSpinWait();
    }
  }

  /** Whether that thread is going to let it go on. */
  private boolean isChosen(Object thread) {
    return (boolean) get(onList, thread);
  }

  private boolean isIdle() {
    StackTraceElement[] stack = unblocker.getStackTrace();
    return stack.length > 0 && stack[0].getMethodName().equals("takeVirtualThreadListToUnblock");
  }

  /** A thread is going to run, which may have been chosen again since. */
  void begins(Runnable task) {
    boolean _ = waiting.remove(task);
    if (isIn(threadOf(task), unblocked, unblocked)) {
      settle(threadOf(task));
    }
  }

  /**
   * A thread has run until it waits, or has ended. Waits for a monitor that a thread outside of the
   * simulation has: whether it has it just now is chance, so the one that needs it goes on at once.
   *
   * @return whether it goes on
   */
  boolean goesOn(Runnable task, List<Runnable> ready) {
    Object thread = threadOf(task);
    for (int i = 0;
        isIn(thread, blocked, blocked) && (isChosen(thread) || mayEnd(i) || !isIdle());
        i++) {
      if (i < SPINS) {
        Thread.onSpinWait();
      } else {
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
    int now = (int) get(state, thread);
    if (now == unblocked) {
      settle(thread);
      return ended.remove(task) || ready.remove(task);
    }
    if (now == blocked || now == waits || now == waitsWithLimit) {
      waiting.add(task);
    }
    return false;
  }

  private boolean mayEnd(int looks) {
    return looks < LOOKS || (looks < LAST_LOOKS && isAnyCleanerBusy());
  }

  /** Whether one may have the monitor, but no processor. */
  private boolean isAnyCleanerBusy() {
    return cleaners.stream()
        .filter(cleaner -> cleaner.getState() == Thread.State.RUNNABLE)
        .map(Thread::getStackTrace)
        .anyMatch(s -> s.length > 0 && !s[0].getMethodName().equals("waitForReferencePendingList"));
  }

  /** Called by any thread that lets another run; returns false unless it is that of the JVM. */
  boolean ends(Thread waker, Runnable task) {
    return waker.equals(unblocker) && ended.add(task);
  }

  /**
   * No thread can run. Waits for one that is blocked: a thread that does not belong to the
   * simulation, and has no processor, may have the monitor.
   *
   * @return whether one can run
   */
  boolean await(List<Runnable> ready) {
    for (int i = 0; i < LAST_LOOKS && ready.isEmpty(); i++) {
      if (waiting.stream().noneMatch(task -> isIn(threadOf(task), blocked, unblocked))) {
        return false;
      }
      LockSupport.parkNanos(PAUSE_NANOS);
      addTo(ready);
    }
    return !ready.isEmpty();
  }

  /** Adds the threads that can run to the others. */
  void addTo(List<Runnable> ready) {
    for (Iterator<Runnable> each = waiting.iterator(); each.hasNext(); ) {
      Runnable task = each.next();
      if (ready.contains(task)) { // It was interrupted.
        each.remove();
      } else {
        Object thread = threadOf(task);
        if (isIn(thread, blocked, unblocked)) {
          settle(thread);
        }
        if (ended.remove(task)) {
          ready.add(task);
          each.remove();
        }
      }
    }
  }
}
