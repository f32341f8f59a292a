package dev.verbena.internal.life;

import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.foreign.StackSpace;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.jfr.ObjectName;
import dev.verbena.internal.time.Time;
import dev.verbena.internal.time.Uninterrupted;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The lifecycle of an object that was created by a C function and must be destroyed. It knows the
 * objects that its object was created on, and closes those that were created on it.
 *
 * <p>An object has one core; {@link #of} returns it to other packages of this library.
 */
public final class Core {
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

  private static volatile Function<AutoCloseable, Core> coreOf;

  private long address;
  private final LongConsumer destruction;
  private volatile List<Core> parents;
  private Object owner;
  private @Nullable OpenDevice device;
  private volatile Runnable beforeClose = () -> {};
  private volatile Runnable afterFailedClose = () -> {};
  private volatile Runnable release = this::destroy;
  private volatile boolean closesWhenUnused;

  /** In the order of creation; a set, so that removal takes constant time. */
  private final LinkedHashSet<Core> children = new LinkedHashSet<>();

  /** The threads that create an object on this one or call C with it, which delays its closing. */
  private final List<Thread> holders = new ArrayList<>(0);

  private final DataPathUsers users = new DataPathUsers();

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
  private static final ThreadLocal<Deque<Core>> UNDER_WAY =
      ThreadLocal.withInitial(ArrayDeque::new);

  /** The number of closings of all objects, and of changes that have the same effect on lists. */
  private static final AtomicInteger CLOSINGS = new AtomicInteger();

  private Core(LongConsumer destruction, List<Core> parents) {
    this.destruction = destruction;
    this.parents = parents;
  }

  /**
   * Sets the function that returns the core of an object; {@code Resource} calls this once.
   *
   * @param function returns the core
   */
  public static void register(Function<AutoCloseable, Core> function) {
    coreOf = function;
  }

  /**
   * {@return the core of an object}
   *
   * @param object an object that has one
   */
  public static Core of(AutoCloseable object) {
    return coreOf.apply(object);
  }

  private static List<Core> of(List<? extends AutoCloseable> objects) {
    return objects.stream().map(Core::of).toList();
  }

  /**
   * Creates a C object and its owner on others. A thread that closes one of the parents meanwhile
   * waits until the owner is complete, and then closes it first. So no parent is destroyed during
   * the creation, and no thread sees an incomplete object. If the constructor of the owner fails,
   * for example because no memory is left, the C object is destroyed.
   *
   * @param <R> the type of the owner
   * @param objects the parents: the objects that must be closed after the new one
   * @param creation creates the C object and returns its address; closing a parent there throws an
   *     exception
   * @param destruction destroys the C object; throws an exception if that fails
   * @param constructor creates the owner, whose constructor calls {@link #owner}
   * @return the owner
   * @throws IllegalStateException if a parent is closed; nothing is created
   */
  public static <R> R make(
      List<? extends AutoCloseable> objects,
      LongSupplier creation,
      LongConsumer destruction,
      Function<Core, R> constructor) {
    List<Core> parents = of(objects);
    int pushed = 0;
    int held = 0;
    Deque<Core> underWay = UNDER_WAY.get();
    try {
      for (Core parent : parents) {
        underWay.push(parent);
        pushed++;
        parent.hold();
        held++;
      }
      StackSpace.require();
      return create(parents, creation, destruction, constructor);
    } finally {
      for (int i = 0; i < pushed; i++) {
        underWay.pop();
      }
      for (int i = 0; i < held; i++) { // Without an allocation, which could fail.
        parents.get(i).removeHolder();
      }
      for (int i = 0; i < held; i++) {
        parents.get(i).closeIfUnused();
      }
    }
  }

  /**
   * Creates the owner of a C object that other code created and destroys, as {@link #make} does.
   *
   * @param <R> the type of the owner
   * @param objects the parents: the objects that must be closed after the new one
   * @param address the address of the C object
   * @param constructor returns the owner
   * @return the owner
   * @throws IllegalStateException if a parent is closed
   */
  public static <R> R borrow(
      List<? extends AutoCloseable> objects, long address, Function<Core, R> constructor) {
    return make(objects, () -> address, object -> {}, constructor);
  }

  /**
   * Creates the owner of a C object that exists, as {@link #make} does. The C object is destroyed
   * if that fails, also if a parent is closed.
   *
   * @param <R> the type of the owner
   * @param objects the parents: the objects that must be closed after the new one
   * @param address the address of the C object
   * @param destruction destroys the C object; throws an exception if that fails
   * @param constructor returns the owner
   * @return the owner
   * @throws IllegalStateException if a parent is closed
   */
  public static <R> R adopt(
      List<? extends AutoCloseable> objects,
      long address,
      LongConsumer destruction,
      Function<Core, R> constructor) {
    boolean[] isAdopted = {false};
    try {
      return make(
          objects,
          () -> {
            isAdopted[0] = true;
            return address;
          },
          destruction,
          constructor);
    } catch (Throwable t) {
      if (!isAdopted[0]) {
        AfterFailure.close(t, () -> destruction.accept(address));
      }
      throw t;
    }
  }

  private static <R> R create(
      List<Core> parents,
      LongSupplier creation,
      LongConsumer destruction,
      Function<Core, R> constructor) {
    Core core = new Core(destruction, parents);
    core.address = creation.getAsLong();
    try {
      R made = constructor.apply(core);
      parents.forEach(parent -> parent.add(core));
      return made;
    } catch (Throwable t) {
      core.detachFrom(parents);
      AfterFailure.close(t, core.release);
      throw t;
    }
  }

  /** Sets the object whose string names this core in messages; its constructor calls this. */
  public void owner(Object object) {
    owner = object;
  }

  /**
   * Sets what ends the waits of all threads for events of the object, or throws an exception if it
   * cannot be closed while a thread uses it. It is called when closing begins, before anything is
   * destroyed; no new use of the object can begin.
   *
   * @param action the action
   */
  public void beforeClose(Runnable action) {
    beforeClose = action;
  }

  /** Sets what begins again what {@link #beforeClose} has ended, if the object stays open. */
  public void afterFailedClose(Runnable action) {
    afterFailedClose = action;
  }

  /**
   * Wraps the destruction of the C object.
   *
   * @param wrapper is given what destroys the object until now, which it runs or replaces
   */
  public void wrapDestruction(Consumer<Runnable> wrapper) {
    Runnable inner = release;
    release = () -> wrapper.accept(inner);
  }

  /** Closes the object as soon as nothing uses it; what that throws is logged. */
  public void closeWhenUnused() {
    closesWhenUnused = true;
    closeIfUnused();
  }

  private void closeIfUnused() {
    if (closesWhenUnused && isOpen() && !isUsed()) {
      boolean _ = ServiceLoop.attempt(() -> close(LIMIT, true));
    }
  }

  /**
   * Makes the object the context of a device, to which all objects that are created on it belong.
   *
   * @param opened the device
   */
  public void device(OpenDevice opened) {
    device = opened;
  }

  /** {@return the device of the object; null if it has none, as an event channel} */
  public @Nullable OpenDevice device() {
    return device == null ? deviceOf(parents) : device;
  }

  /** {@return the functions of libibverbs, or those in its place, for the object's device} */
  public Verbs verbs() {
    return device().provider().verbs();
  }

  private static @Nullable OpenDevice deviceOf(List<Core> objects) {
    for (Core object : objects) {
      OpenDevice found = object.device();
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private void destroy() {
    OpenDevice of = deviceOf(parents);
    DeviceLoss.destroy(of == null ? null : of.loss(), () -> destruction.accept(address));
  }

  /** Prevents the object from being closed until {@link #endHold}. */
  public synchronized void hold() {
    StackSpace.requireForSection(); // Which endHold() needs, too.
    requireNotClosing();
    holders.add(Thread.currentThread());
  }

  /** Calls C with several objects, none of which can be closed during the call. */
  public static void whileOpen(List<? extends AutoCloseable> objects, Runnable action) {
    Runnable calls = action;
    for (Core object : of(objects).reversed()) {
      Runnable inner = calls;
      calls = () -> object.whileOpen(inner);
    }
    calls.run();
  }

  public void endHold() {
    removeHolder();
    closeIfUnused();
  }

  private synchronized void removeHolder() {
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
  public void whileOpen(Runnable call) {
    hold();
    try {
      call.run();
    } finally {
      endHold();
    }
  }

  /** Calls C as {@link #whileOpen(Runnable)} does, and returns the result. */
  public <T> T whileOpen(Supplier<T> call) {
    hold();
    try {
      return call.get();
    } finally {
      endHold();
    }
  }

  private synchronized void add(Core child) {
    children.add(child);
  }

  /**
   * Makes the closing of this object wait for data path calls of a user.
   *
   * @throws IllegalStateException if closing has begun
   */
  synchronized void add(DataPathUser user) {
    requireNotClosing();
    users.add(user);
  }

  /**
   * Changes the parents of the object, if C allows it.
   *
   * @param newParents the objects that must be closed after this one from now on
   * @throws IllegalStateException if this object or one of the parents is closed or being closed,
   *     unless the closing waits for a call of the current thread; nothing is changed
   */
  public void moveTo(AutoCloseable... newParents) {
    moveTo(of(List.of(newParents)));
  }

  private synchronized void moveTo(List<Core> after) {
    // Closing cannot begin until this is done, and one that waits for this thread has not begun to
    // destroy. Locks are acquired only upwards: child, then parent.
    if (state != State.OPEN && !holders.contains(Thread.currentThread())) {
      throw closedException();
    }
    List<Core> left = new ArrayList<>(parents);
    left.removeAll(after);
    List<Core> entered = new ArrayList<>(after);
    entered.removeAll(parents);
    boolean moved = false;
    try {
      for (Core parent : entered) {
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
  private void detachFrom(List<Core> objects) {
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
  public synchronized void addParent(AutoCloseable parent) {
    if (!parents.contains(of(parent))) {
      List<Core> all = new ArrayList<>(parents);
      all.add(of(parent));
      moveTo(all);
    }
  }

  private synchronized boolean attach(Core child) {
    // A closing that waits for this thread has closed no children yet.
    return (state == State.OPEN || holders.contains(Thread.currentThread())) && children.add(child);
  }

  private synchronized void detach(Core child) {
    children.remove(child);
  }

  /** Returns whether an open object was created on this one, or is being created. */
  public synchronized boolean isUsed() {
    return !children.isEmpty() || !holders.isEmpty();
  }

  private synchronized @Nullable Core newestChild() {
    return children.isEmpty() ? null : children.getLast();
  }

  /**
   * Adds a parent, whose closing closes this object first. If it is closed already, closes this
   * object.
   *
   * @param parent the object that must be closed after this one from now on
   * @throws IllegalStateException if this object or the parent is closed
   */
  public void closeWith(AutoCloseable parent) {
    try {
      addParent(parent);
    } catch (IllegalStateException e) {
      close();
      throw e;
    }
  }

  /** Replaces one of the parents, after C did. If the new one is closed, this object is closed. */
  public void replaceParent(AutoCloseable from, AutoCloseable to) {
    try {
      moveTo(parents.stream().map(p -> p.equals(of(from)) ? of(to) : p).toList());
    } catch (IllegalStateException e) {
      close();
      throw e;
    }
  }

  /** Returns the parents of a type. */
  public <R> List<R> parents(Class<R> type) {
    return owners(parents, type);
  }

  private synchronized List<Core> children() {
    return List.copyOf(children);
  }

  /** Returns the open objects of a type that were created on this one, the oldest first. */
  public <R> List<R> children(Class<R> type) {
    return owners(children(), type);
  }

  private static <R> List<R> owners(List<Core> cores, Class<R> type) {
    return cores.stream().map(c -> c.owner).filter(type::isInstance).map(type::cast).toList();
  }

  /**
   * Returns the object with a C address that was created on this one, directly or indirectly; null
   * if there is none.
   */
  public <R> @Nullable R find(Class<R> type, long address) {
    for (Core child : children().reversed()) {
      if (type.isInstance(child.owner) && child.address == address) {
        return type.cast(child.owner);
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
  public void close() {
    close(LIMIT);
  }

  /** Closes this object; each wait for other threads takes at most so long. */
  public void close(Duration limit) {
    close(limit, false);
  }

  private void close(Duration limit, boolean ifUnused) {
    Deque<Core> underWay = UNDER_WAY.get();
    for (Core inner : underWay) {
      if (inner.isWithin(this)) {
        throw new IllegalStateException(
            "%s cannot be closed here: this thread is closing %s or creating an object on it"
                .formatted(this, inner.equals(this) ? "it" : inner));
      }
    }
    StackSpace.require();
    underWay.push(this); // May fail, so before closing has begun.
    try {
      if (!beginClosing(limit, ifUnused)) {
        return;
      }
      closeBegun(limit);
    } finally {
      underWay.pop();
    }
    for (Core parent : parents) {
      parent.detach(this);
      parent.closeIfUnused();
    }
  }

  private void closeBegun(Duration limit) {
    try {
      beforeClose.run();
      users.awaitEnd(this, limit);
      for (Core child = newestChild(); child != null; child = newestChild()) {
        child.close(limit);
        detach(child); // The thread that closed it may not have detached it yet.
      }
      release.run();
    } catch (Throwable t) {
      endClosing(State.OPEN);
      AfterFailure.close(t, afterFailedClose);
      throw t;
    }
    endClosing(State.CLOSED);
  }

  /**
   * Returns whether closing another object closes this one: it is the same, or this one was created
   * on it.
   */
  private boolean isWithin(Core other) {
    return equals(other) || parents.stream().anyMatch(parent -> parent.isWithin(other));
  }

  /** Returns true to the one thread that closes the object; others wait until it is closed. */
  private synchronized boolean beginClosing(Duration limit, boolean ifUnused) {
    awaitWhile(
        () -> state == State.CLOSING, limit, () -> "thread " + nameOf(closer) + " is closing it");
    if (state == State.CLOSED || (ifUnused && isUsed())) {
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
  public static String nameOf(Thread thread) {
    return thread.getName().isEmpty() ? "#" + thread.threadId() : thread.getName();
  }

  private synchronized void awaitWhile(
      BooleanSupplier condition, Duration limit, Supplier<String> reason) {
    if (!Uninterrupted.awaitNotification(this, () -> !condition.getAsBoolean(), limit.toNanos())) {
      throw new IllegalStateException(this + " cannot be closed: " + reason.get());
    }
  }

  private synchronized void endClosing(State outcome) {
    state = outcome;
    usable = outcome == State.OPEN;
    notifyAll();
  }

  /** {@return whether the object is open: false once closing has begun} */
  public boolean isOpen() {
    return state == State.OPEN;
  }

  /** Returns whether the object is open, after waiting for the end of a close that has begun. */
  public synchronized boolean remainsOpen() throws InterruptedException {
    while (state == State.CLOSING) {
      Time.wait(this, Long.MAX_VALUE);
    }
    return isOpen();
  }

  /**
   * {@return the address of the C struct}
   *
   * @throws IllegalStateException if this object is closed
   */
  public long address() {
    requireOpen();
    return address;
  }

  /** Throws {@link IllegalStateException} if the object is closed. */
  public void requireOpen() {
    if (!usable) {
      throw closedException();
    }
  }

  /** Makes every request list be validated again: what an open object allows has changed. */
  public static void revalidateAll() {
    CLOSINGS.incrementAndGet();
  }

  /**
   * Returns a number that changes whenever any object is closed. As long as it is the same, objects
   * that were open are still open.
   */
  public static int closings() {
    return CLOSINGS.getOpaque();
  }

  /** Returns the same number, read before all following checks. */
  public static int closingsBefore() {
    return CLOSINGS.get();
  }

  /** Throws {@link IllegalStateException} if closing has begun, by a volatile read. */
  public void requireNotClosing() {
    if (state != State.OPEN) {
      throw closedException();
    }
  }

  private IllegalStateException closedException() {
    return new IllegalStateException(this + " is closed");
  }

  /**
   * Throws if an object belongs to another context: C functions do not check this, and use the
   * memory of the object as if it were of the same provider.
   *
   * @param context the context
   * @param object an object that is used together with one of the context
   * @param its the context of the object
   */
  public static void requireSame(Object context, Object object, Object its) {
    if (!context.equals(its)) {
      throw new IllegalArgumentException(object + " does not belong to " + context);
    }
  }

  @Override
  public String toString() {
    return ObjectName.of(owner);
  }
}
