package dev.verbena.verbs;

import dev.verbena.internal.AfterFailure;
import dev.verbena.internal.StackSpace;
import dev.verbena.internal.ThreadBarrier;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An object that was created by a C function and must be destroyed. It knows the objects it was
 * created on, and closes those that were created on it.
 *
 * <p>Closing first closes the objects that were created on this one and are still open, the newest
 * first. It may be repeated. Using a closed object throws {@link IllegalStateException}. If the C
 * function that destroys the object fails, the exception contains the reason and the object stays
 * open. Once the {@linkplain Context#isLost() device is lost}, EIO is no such failure: the kernel
 * has destroyed the object itself.
 *
 * <p>Objects may be used by several threads. A queue may be closed while other threads post to it
 * or poll it: closing waits for the calls that are in progress, and later ones throw {@link
 * IllegalStateException}.
 *
 * <p>Only this library extends the class.
 */
public abstract class Resource implements AutoCloseable {
  private enum State {
    OPEN,
    CLOSING,
    CLOSED
  }

  /**
   * How long closing waits for other threads: much longer than a call of C takes, since a program
   * that closes an object again has lost nothing.
   */
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final long address;
  private final Runnable release;
  private volatile List<Resource> parents = List.of();

  /** In the order of creation; a set, so that removal takes constant time. */
  private final LinkedHashSet<Resource> children = new LinkedHashSet<>();

  /**
   * The threads that create an object on this one or call C with it, which delays its closing; a
   * thread may do both, and is then contained twice.
   */
  private final List<Thread> holders = new ArrayList<>(0);

  /** The users that passed this object to C on the data path at least once. */
  private List<WeakReference<DataPathUser>> users = List.of();

  private int usersBeforePurge = 8;

  private volatile State state = State.OPEN;

  /** The thread that closes this object, or that tried last. */
  private @Nullable Thread closer;

  /**
   * Read by the data path instead of the state: false from the start of closing. Not volatile on
   * purpose: a volatile read would make C2 reload all fields of a list or a region at each patch of
   * each request. Whether C may be called is decided by {@link #closings} inside the call.
   */
  private boolean usable = true;

  /**
   * The objects that the current thread closes or creates an object on, the innermost first.
   * Closing one of them, or an object they belong to, would wait for this thread.
   */
  private static final ThreadLocal<Deque<Resource>> UNDER_WAY =
      ThreadLocal.withInitial(ArrayDeque::new);

  /** The number of closings of all objects, and of changes that have the same effect on lists. */
  private static final AtomicInteger CLOSINGS = new AtomicInteger();

  /**
   * Creates an object that is owned by this class. Use {@link #make} for objects that are created
   * on others.
   *
   * @param address the address of the C object
   * @param release destroys the C object; throws an exception if that fails
   */
  Resource(long address, Runnable release) {
    this.address = address;
    this.release = release;
  }

  /**
   * Creates an object on others. A thread that closes one of the parents meanwhile waits until the
   * object is complete, and then closes it first. So no parent is destroyed during the creation,
   * and no thread sees an incomplete object.
   *
   * @param <R> the type of the object
   * @param parents the objects that must be closed after the new one
   * @param maker calls the C function and the constructor; closing a parent there throws an
   *     exception
   * @return the object
   * @throws IllegalStateException if a parent is closed; nothing is created
   */
  static <R extends Resource> R make(List<? extends Resource> parents, Supplier<R> maker) {
    int pushed = 0;
    int held = 0;
    Deque<Resource> underWay = UNDER_WAY.get();
    try {
      for (Resource parent : parents) {
        underWay.push(parent);
        pushed++;
        parent.hold();
        held++;
      }
      StackSpace.require();
      R made = maker.get();
      Resource child = made;
      try {
        child.parents = List.copyOf(parents);
        child.parents.forEach(parent -> parent.add(child));
      } catch (Throwable t) {
        child.detachFrom(child.parents);
        AfterFailure.close(t, child.release);
        throw t;
      }
      return made;
    } finally {
      for (int i = 0; i < pushed; i++) {
        underWay.pop();
      }
      endHolds(parents, held);
    }
  }

  /** The constructor of the owner of a C object, which does not throw after it was published. */
  interface Constructor<R> {
    /**
     * Returns the owner of a C object.
     *
     * @param address the address of the C object
     * @param release destroys the C object; throws an exception if that fails
     */
    R make(long address, Runnable release);
  }

  /** Destroys a C object. */
  private static final class Release implements Runnable {
    private final @Nullable DeviceLoss loss;
    private final LongConsumer destruction;
    private long address;

    Release(@Nullable DeviceLoss loss, LongConsumer destruction) {
      this.loss = loss;
      this.destruction = destruction;
    }

    @Override
    public void run() {
      DeviceLoss.destroy(loss, () -> destruction.accept(address));
    }
  }

  /** Returns what the loss of this object's device changes; null if it belongs to no device. */
  @Nullable DeviceLoss loss() {
    return lossOf(parents);
  }

  private static @Nullable DeviceLoss lossOf(List<? extends Resource> objects) {
    for (Resource object : objects) {
      DeviceLoss loss = object.loss();
      if (loss != null) {
        return loss;
      }
    }
    return null;
  }

  /**
   * Creates a C object and its owner on others, as {@link #make(List, Supplier)} does. If the
   * constructor of the owner fails, for example because no memory is left, the C object is
   * destroyed.
   *
   * @param <R> the type of the owner
   * @param parents the objects that must be closed after the new one
   * @param creation creates the C object and returns its address
   * @param destruction destroys the C object; throws an exception if that fails
   * @param constructor returns the owner
   * @return the owner
   * @throws IllegalStateException if a parent is closed; nothing is created
   */
  static <R extends Resource> R make(
      List<? extends Resource> parents,
      LongSupplier creation,
      LongConsumer destruction,
      Constructor<R> constructor) {
    DeviceLoss loss = lossOf(parents);
    return make(parents, () -> owned(loss, creation, destruction, constructor));
  }

  /** Creates a C object and its owner, which belongs to no other. */
  static <R extends Resource> R owned(
      LongSupplier creation, LongConsumer destruction, Constructor<R> constructor) {
    return owned(null, creation, destruction, constructor);
  }

  private static <R extends Resource> R owned(
      @Nullable DeviceLoss loss,
      LongSupplier creation,
      LongConsumer destruction,
      Constructor<R> constructor) {
    StackSpace.require();
    Release release = new Release(loss, destruction);
    release.address = creation.getAsLong();
    try {
      return constructor.make(release.address, release);
    } catch (Throwable t) {
      AfterFailure.close(t, release);
      throw t;
    }
  }

  /** Prevents the object from being closed until {@link #endHold}. */
  final synchronized void hold() {
    StackSpace.requireForSection(); // Which endHold() needs, too.
    requireNotClosing();
    holders.add(Thread.currentThread());
  }

  /** Calls C with several objects, none of which can be closed during the call. */
  static void whileOpen(List<? extends Resource> objects, Runnable action) {
    int held = 0;
    try {
      for (Resource object : objects) {
        object.hold();
        held++;
      }
      action.run();
    } finally {
      endHolds(objects, held);
    }
  }

  /** Ends the holds of the first objects, without an allocation, which could fail. */
  private static void endHolds(List<? extends Resource> objects, int held) {
    for (int i = 0; i < held; i++) {
      objects.get(i).endHold();
    }
  }

  final synchronized void endHold() {
    holders.remove(Thread.currentThread());
    notifyAll();
  }

  /**
   * Calls C with this object, which cannot be closed during the call: a thread that closes it waits
   * for the end of the call.
   *
   * @param call the call
   * @throws IllegalStateException if this object is closed
   */
  final void whileOpen(Runnable call) {
    whileOpen(List.of(this), call);
  }

  /** Calls C as {@link #whileOpen(Runnable)} does, and returns the result. */
  final <T> T whileOpen(Supplier<T> call) {
    hold();
    try {
      return call.get();
    } finally {
      endHold();
    }
  }

  private synchronized void add(Resource child) {
    children.add(child);
  }

  /**
   * Makes the closing of this object wait for data path calls of a user.
   *
   * @throws IllegalStateException if closing has begun
   */
  final synchronized void add(DataPathUser user) {
    requireNotClosing();
    if (users.size() == usersBeforePurge) {
      users.removeIf(reference -> reference.get() == null);
      usersBeforePurge = Math.max(usersBeforePurge, 2 * users.size());
    }
    if (users.isEmpty()) {
      users = new ArrayList<>();
    }
    users.add(new WeakReference<>(user));
  }

  private synchronized List<WeakReference<DataPathUser>> users() {
    return List.copyOf(users);
  }

  /** Waits until no data path call that uses this object is in progress. */
  private void awaitDataPath(Duration limit) {
    List<WeakReference<DataPathUser>> waitedFor = users();
    if (waitedFor.isEmpty()) {
      return;
    }
    ThreadBarrier.run();
    long start = System.nanoTime();
    for (WeakReference<DataPathUser> reference : waitedFor) {
      DataPathUser user = reference.get();
      if (user != null) {
        user.awaitEnd(this, start, limit.toNanos());
      }
    }
  }

  /**
   * Changes the parents of the object, if C allows it.
   *
   * @param newParents the objects that must be closed after this one from now on
   * @throws IllegalStateException if this object or one of the parents is closed; nothing is
   *     changed
   */
  final synchronized void moveTo(Resource... newParents) {
    // Closing cannot begin until this is done. Locks are acquired only upwards: child, then parent.
    if (state != State.OPEN) {
      throw closedException();
    }
    List<Resource> after = List.of(newParents);
    List<Resource> left = new ArrayList<>(parents);
    left.removeAll(after);
    List<Resource> entered = new ArrayList<>(after);
    entered.removeAll(parents);
    boolean moved = false;
    try {
      for (Resource parent : entered) {
        if (!parent.attach(this)) {
          throw parent.closedException();
        }
      }
      parents = after;
      moved = true;
    } finally {
      detachFrom(moved ? left : entered);
    }
  }

  /** Makes objects forget this one, without an allocation, which could fail. */
  private void detachFrom(List<Resource> objects) {
    for (int i = 0; i < objects.size(); i++) {
      objects.get(i).detach(this);
    }
  }

  /**
   * Adds a parent, after C did.
   *
   * @param parent the object that must be closed after this one from now on
   * @throws IllegalStateException if this object or the parent is closed
   */
  final synchronized void addParent(Resource parent) {
    if (!parents.contains(parent)) {
      List<Resource> all = new ArrayList<>(parents);
      all.add(parent);
      moveTo(all.toArray(Resource[]::new));
    }
  }

  private synchronized boolean attach(Resource child) {
    return state == State.OPEN && children.add(child);
  }

  private synchronized void detach(Resource child) {
    children.remove(child);
  }

  /** Returns whether an open object was created on this one, or is being created. */
  final synchronized boolean isUsed() {
    return !children.isEmpty() || !holders.isEmpty();
  }

  private synchronized @Nullable Resource newestChild() {
    return children.isEmpty() ? null : children.getLast();
  }

  /** Replaces one of the parents, after C did. If the new one is closed, this object is closed. */
  final void replaceParent(Resource from, Resource to) {
    Resource[] moved = parents.stream().map(p -> p.equals(from) ? to : p).toArray(Resource[]::new);
    try {
      moveTo(moved);
    } catch (IllegalStateException e) {
      close();
      throw e;
    }
  }

  /** Returns the parents of a type. */
  final <R extends Resource> List<R> parents(Class<R> type) {
    return parents.stream().filter(type::isInstance).map(type::cast).toList();
  }

  private synchronized List<Resource> children() {
    return List.copyOf(children);
  }

  /** Returns the open objects of a type that were created on this one, the oldest first. */
  final <R extends Resource> List<R> children(Class<R> type) {
    return children().stream().filter(type::isInstance).map(type::cast).toList();
  }

  /**
   * Returns the object with a C address that was created on this one, directly or indirectly; null
   * if there is none.
   */
  final <R extends Resource> @Nullable R find(Class<R> type, long address) {
    for (Resource child : children().reversed()) {
      if (type.isInstance(child) && child.address == address) {
        return type.cast(child);
      }
      R found = child.find(type, address);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /**
   * Closes this object, after everything that was created on it.
   *
   * @throws dev.verbena.VerbsException if the C function fails; the object then stays open
   * @throws IllegalStateException if this thread is creating an object on this one, or is closing
   *     it or an object that was created on it: the call would wait for itself; or if another
   *     thread, which the message names, does not return from a call with this object within 30
   *     seconds. The object then stays open
   */
  @Override
  public final void close() {
    close(LIMIT);
  }

  /** Closes this object; each wait for other threads takes at most so long. */
  final void close(Duration limit) {
    Deque<Resource> underWay = UNDER_WAY.get();
    for (Resource inner : underWay) {
      if (inner.isWithin(this)) {
        throw new IllegalStateException(
            "%s cannot be closed here: this thread is closing %s or creating an object on it"
                .formatted(this, inner.equals(this) ? "it" : inner));
      }
    }
    StackSpace.require();
    underWay.push(this); // May fail, so before closing has begun.
    try {
      if (!beginClosing(limit)) {
        return;
      }
      closeBegun(limit);
    } finally {
      underWay.pop();
    }
    for (Resource parent : parents) {
      parent.detach(this);
      parent.childClosed();
    }
  }

  private void closeBegun(Duration limit) {
    boolean released = false;
    try {
      beforeClose();
      awaitDataPath(limit);
      for (Resource child = newestChild(); child != null; child = newestChild()) {
        child.close(limit);
        detach(child); // The thread that closed it may not have detached it yet.
      }
      release.run();
      released = true;
    } finally {
      endClosing(released ? State.CLOSED : State.OPEN);
    }
  }

  /** An object that was created on this one was closed, by whichever thread. */
  void childClosed() {}

  /**
   * Returns whether closing another object closes this one: it is the same, or this one was created
   * on it.
   */
  private boolean isWithin(Resource other) {
    return equals(other) || parents.stream().anyMatch(parent -> parent.isWithin(other));
  }

  /**
   * Ends the waits of all threads for events of this object, or throws an exception if it cannot be
   * closed while a thread uses it. Called when closing begins, before anything is destroyed; no new
   * use of the object can begin.
   */
  void beforeClose() {}

  /** Returns true to the one thread that closes the object; others wait until it is closed. */
  private synchronized boolean beginClosing(Duration limit) {
    awaitWhile(
        () -> state == State.CLOSING, limit, () -> "thread " + nameOf(closer) + " is closing it");
    if (state == State.CLOSED) {
      return false;
    }
    state = State.CLOSING; // No new operation begins; those in progress continue.
    closer = Thread.currentThread();
    boolean begun = false;
    try {
      awaitWhile(
          () -> !holders.isEmpty(),
          limit,
          () ->
              "thread "
                  + nameOf(holders.getFirst())
                  + " does not return from a call with it, or from creating an object on it");
      begun = true;
    } finally {
      if (!begun) {
        endClosing(State.OPEN);
      }
    }
    usable = false;
    CLOSINGS.incrementAndGet();
    return true;
  }

  /** Returns a name of a thread, for messages; that of a virtual thread is often empty. */
  static String nameOf(Thread thread) {
    return thread.getName().isEmpty() ? "#" + thread.threadId() : thread.getName();
  }

  private synchronized void awaitWhile(
      BooleanSupplier condition, Duration limit, Supplier<String> reason) {
    long start = System.nanoTime();
    boolean interrupted = false;
    try {
      while (condition.getAsBoolean()) {
        long left = limit.toNanos() - (System.nanoTime() - start);
        if (left <= 0) {
          throw new IllegalStateException(this + " cannot be closed: " + reason.get());
        }
        try {
          wait(Math.ceilDiv(left, 1_000_000));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private synchronized void endClosing(State outcome) {
    state = outcome;
    usable = outcome == State.OPEN;
    notifyAll();
  }

  /**
   * Returns whether the object is open.
   *
   * @return false once closing has begun
   */
  public final boolean isOpen() {
    return state == State.OPEN;
  }

  /**
   * Returns the C object, for use with {@code dev.verbena.raw}. It remains owned by this object.
   *
   * @return a segment of length 0 at the address of the C struct
   * @throws IllegalStateException if this object is closed
   */
  public final MemorySegment segment() {
    return MemorySegment.ofAddress(address());
  }

  /**
   * Returns the address of the C object.
   *
   * @return the address of the C struct
   * @throws IllegalStateException if this object is closed
   */
  final long address() {
    requireOpen();
    return address;
  }

  /**
   * Checks that the object is open.
   *
   * @throws IllegalStateException if it is closed
   */
  final void requireOpen() {
    if (!usable) {
      throw closedException();
    }
  }

  /** Makes every request list be validated again: what an open object allows has changed. */
  static void revalidateAll() {
    CLOSINGS.incrementAndGet();
  }

  /**
   * Returns a number that changes whenever any object is closed. As long as it is the same, objects
   * that were open are still open.
   */
  static int closings() {
    return CLOSINGS.getOpaque();
  }

  /** Returns the same number, read before all following checks. */
  static int closingsBefore() {
    return CLOSINGS.get();
  }

  /**
   * Checks by a volatile read that closing has not begun.
   *
   * @throws IllegalStateException if it has
   */
  final void requireNotClosing() {
    if (state != State.OPEN) {
      throw closedException();
    }
  }

  private IllegalStateException closedException() {
    return new IllegalStateException(this + " is closed");
  }
}
