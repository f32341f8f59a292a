package dev.verbena.verbs;

import dev.verbena.internal.ThreadBarrier;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Something that C made and that must be given back: it knows what it was made on, and closes what
 * was made on it.
 *
 * <p>Closing closes what is still open below first, the newest before the oldest, and may be done
 * any number of times. Using a closed object throws {@link IllegalStateException}. If C refuses to
 * release an object, the exception says why and the object stays open.
 *
 * <p>Objects may be used from several threads. A queue may be closed while other threads post to it
 * or poll it: closing waits for the calls of C that are under way, and later ones throw {@link
 * IllegalStateException}. Nobody may be inside another call on an object while it is closed.
 */
public abstract class Resource implements AutoCloseable {
  private enum State {
    OPEN,
    CLOSING,
    CLOSED
  }

  private final long address;
  private final Runnable release;
  private volatile List<Resource> parents = List.of();

  /** In the order of creation; a set, so that leaving costs the same among any number of others. */
  private final LinkedHashSet<Resource> children = new LinkedHashSet<>();

  /** How many objects are being made on this one, which cannot be closed meanwhile. */
  private int makings;

  /** What gave this object to C on the data path, at least once. */
  private List<WeakReference<DataPathUser>> users = List.of();

  private int usersBeforePurge = 8;

  private volatile State state = State.OPEN;

  /**
   * What the data path looks at instead of the state: false from the start of closing. Not volatile
   * on purpose. A volatile read would make C2 load everything anew that it knows of a list or a
   * region, at every patch of every request. Whether C may be called is decided by {@link
   * #closings} instead, inside the call.
   */
  private boolean usable = true;

  /**
   * The objects that the current thread closes or creates something on, the innermost first.
   * Closing one of them, or what they belong to, would wait for this thread.
   */
  private static final ThreadLocal<Deque<Resource>> UNDER_WAY =
      ThreadLocal.withInitial(ArrayDeque::new);

  /** Counts the closings of all objects. */
  private static final AtomicInteger CLOSINGS = new AtomicInteger();

  /**
   * Takes charge of a new object. What is made on others is made by {@link #make}.
   *
   * @param address the C object
   * @param release gives the C object back; throws if C refuses
   */
  protected Resource(long address, Runnable release) {
    this.address = address;
    this.release = release;
  }

  /**
   * Makes an object on others. Whoever closes one of these meanwhile waits until the object is
   * complete, and then closes it first: so neither C nor the constructor sees a parent go, and
   * nobody sees an object that is still being made.
   *
   * @param <R> what is made
   * @param parents what must be closed after the object
   * @param maker calls C and the constructor; closing a parent there throws
   * @return the object
   * @throws IllegalStateException if a parent is closed; then nothing was made
   */
  protected static <R extends Resource> R make(
      List<? extends Resource> parents, Supplier<R> maker) {
    int held = 0;
    Deque<Resource> underWay = UNDER_WAY.get();
    try {
      for (Resource parent : parents) {
        parent.hold();
        underWay.push(parent);
        held++;
      }
      R made = maker.get();
      Resource child = made;
      child.parents = List.copyOf(parents);
      child.parents.forEach(parent -> parent.add(child));
      return made;
    } finally {
      for (Resource parent : parents.subList(0, held)) {
        underWay.pop();
        parent.letGo();
      }
    }
  }

  /** Keeps the object from being closed until {@link #letGo}. */
  final synchronized void hold() {
    requireNotClosing();
    makings++;
  }

  /** Calls C with several objects, none of which can be closed meanwhile. */
  static void whileOpen(List<? extends Resource> objects, Runnable action) {
    int held = 0;
    try {
      for (Resource object : objects) {
        object.hold();
        held++;
      }
      action.run();
    } finally {
      objects.subList(0, held).forEach(Resource::letGo);
    }
  }

  final synchronized void letGo() {
    makings--;
    notifyAll();
  }

  /**
   * Calls C with this object, which cannot be closed meanwhile: a thread that closes it waits for
   * the end of the call.
   *
   * @throws IllegalStateException if this object is closed
   */
  final void whileOpen(Runnable call) {
    whileOpen(List.of(this), call);
  }

  /** Calls C as {@link #whileOpen(Runnable)} does, and returns the result of the call. */
  final <T> T whileOpen(Supplier<T> call) {
    hold();
    try {
      return call.get();
    } finally {
      letGo();
    }
  }

  private synchronized void add(Resource child) {
    children.add(child);
  }

  /**
   * Makes this object wait, when it is closed, for a call of the data path that it is given to.
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

  /** Waits until no call of the data path is under way that was given this object. */
  private void awaitDataPath() {
    List<WeakReference<DataPathUser>> waitedFor = users();
    if (waitedFor.isEmpty()) {
      return;
    }
    ThreadBarrier.run();
    for (WeakReference<DataPathUser> reference : waitedFor) {
      DataPathUser user = reference.get();
      if (user != null) {
        user.awaitEnd();
      }
    }
  }

  /**
   * Changes what the object belongs to, where C allows it.
   *
   * @param newParents what must be closed after the object from now on
   * @throws IllegalStateException if the object or one of these is closed; the object then stays
   *     where it was
   */
  protected final synchronized void moveTo(Resource... newParents) {
    // Closing cannot begin until this is done. Locks are taken upwards only: child, then parent.
    if (state != State.OPEN) {
      throw closedException();
    }
    List<Resource> left = parents;
    List<Resource> entered = new ArrayList<>(List.of(newParents));
    entered.removeAll(left);
    for (Resource parent : entered) {
      if (!parent.attach(this)) {
        entered.forEach(p -> p.detach(this));
        throw parent.closedException();
      }
    }
    parents = List.of(newParents);
    left.stream().filter(p -> !parents.contains(p)).forEach(p -> p.detach(this));
  }

  private synchronized boolean attach(Resource child) {
    return state == State.OPEN && children.add(child);
  }

  private synchronized void detach(Resource child) {
    children.remove(child);
  }

  private synchronized Resource newestChild() {
    return children.isEmpty() ? null : children.getLast();
  }

  /**
   * Exchanges one of the parents, after C did. If the new one is closed, so is this object then.
   */
  final void move(Resource from, Resource to) {
    Resource[] moved = parents.stream().map(p -> p.equals(from) ? to : p).toArray(Resource[]::new);
    try {
      moveTo(moved);
    } catch (IllegalStateException e) {
      close();
      throw e;
    }
  }

  /** What must be closed after this object, of one kind. */
  final <R extends Resource> List<R> parents(Class<R> type) {
    return parents.stream().filter(type::isInstance).map(type::cast).toList();
  }

  private synchronized List<Resource> children() {
    return List.copyOf(children);
  }

  /** What was created on this object and is still open, of one kind, the oldest first. */
  final <R extends Resource> List<R> children(Class<R> type) {
    return children().stream().filter(type::isInstance).map(type::cast).toList();
  }

  /** What was made of a C object on this one, or on what was made on it; null if nothing was. */
  final <R extends Resource> R find(Class<R> type, long address) {
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
   * Closes this object after everything that was made on it.
   *
   * @throws dev.verbena.VerbsException if C refuses; the object then stays open
   * @throws IllegalStateException if this thread is creating something on this object, or is
   *     closing it or something that was created on it: then closing would wait for itself
   */
  @Override
  public final void close() {
    Deque<Resource> underWay = UNDER_WAY.get();
    for (Resource inner : underWay) {
      if (inner.isWithin(this)) {
        throw new IllegalStateException(
            "%s cannot be closed here: this thread is closing %s or creating an object on it"
                .formatted(this, inner.equals(this) ? "it" : inner));
      }
    }
    if (!beginClosing()) {
      return;
    }
    boolean released = false;
    underWay.push(this);
    try {
      beforeClose();
      awaitDataPath();
      for (Resource child = newestChild(); child != null; child = newestChild()) {
        child.close();
        detach(child); // Whoever closed it may not have come to that yet.
      }
      release.run();
      released = true;
    } finally {
      underWay.pop();
      endClosing(released ? State.CLOSED : State.OPEN);
    }
    parents.forEach(parent -> parent.detach(this));
  }

  /** Whether closing another object closes this one: it is the same, or this was created on it. */
  private boolean isWithin(Resource other) {
    return equals(other) || parents.stream().anyMatch(parent -> parent.isWithin(other));
  }

  /**
   * Makes every thread leave that waits for events of this object, or refuses to close it while a
   * thread is inside. Called when closing begins, before anything is released; nobody can begin to
   * use the object any more.
   */
  protected void beforeClose() {}

  /** True for the one thread that is to close; others wait until that one is done. */
  private synchronized boolean beginClosing() {
    awaitWhile(() -> state == State.CLOSING);
    if (state == State.CLOSED) {
      return false;
    }
    state = State.CLOSING; // Nothing new is begun on the object, but what was begun still uses it.
    awaitWhile(() -> makings > 0);
    usable = false;
    CLOSINGS.incrementAndGet();
    return true;
  }

  private synchronized void awaitWhile(BooleanSupplier condition) {
    boolean interrupted = false;
    while (condition.getAsBoolean()) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void endClosing(State outcome) {
    state = outcome;
    usable = outcome == State.OPEN;
    notifyAll();
  }

  /**
   * Whether the object can be used.
   *
   * @return false once closing has begun
   */
  public final boolean isOpen() {
    return state == State.OPEN;
  }

  /**
   * The C object, for use with {@code dev.verbena.raw}. It stays the property of this object.
   *
   * @return a segment of length 0 at the address of the C struct
   * @throws IllegalStateException if this object is closed
   */
  public final MemorySegment segment() {
    return MemorySegment.ofAddress(address());
  }

  /**
   * The C object's address, for the floors of this library.
   *
   * @return the address of the C struct
   * @throws IllegalStateException if this object is closed
   */
  protected final long address() {
    requireOpen();
    return address;
  }

  /**
   * Checks that the object can be used.
   *
   * @throws IllegalStateException naming the object, if it is closed
   */
  protected final void requireOpen() {
    if (!usable) {
      throw closedException();
    }
  }

  /**
   * Changes whenever any object is closed. Who has seen that many objects are open need not look
   * again while this number stays.
   */
  static int closings() {
    return CLOSINGS.getOpaque();
  }

  /** The same number, read before everything that is looked at next. */
  static int closingsBefore() {
    return CLOSINGS.get();
  }

  /**
   * Checks that closing has not begun, by a volatile read.
   *
   * @throws IllegalStateException naming the object
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
