package dev.verbena.verbs;

import dev.verbena.internal.life.Core;
import dev.verbena.values.AsyncEventType;
import java.lang.foreign.MemorySegment;

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
  static {
    Core.register(object -> ((Resource) object).core);
  }

  /**
   * The lifecycle of this object.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag"}) // Programs cannot make one.
  protected final Core core;

  /**
   * Creates the owner of a C object.
   *
   * @param core the lifecycle of this object
   * @hidden
   */
  @SuppressWarnings({
    "exports",
    "this-escape",
    "InvalidBlockTag"
  }) // The core only keeps the reference.
  protected Resource(Core core) {
    this.core = core;
    core.owner(this);
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
    core.close();
  }

  /**
   * Returns whether the object is open.
   *
   * @return false once closing has begun
   */
  public final boolean isOpen() {
    return core.isOpen();
  }

  /**
   * Returns the C object, for use with {@code dev.verbena.raw}. It remains owned by this object.
   *
   * @return a segment of length 0 at the address of the C struct
   * @throws IllegalStateException if this object is closed
   */
  public final MemorySegment segment() {
    return MemorySegment.ofAddress(core.address());
  }

  /** Returns whether this object is closed before all others of its protection domain. */
  boolean closesFirst() {
    return false;
  }

  /** An asynchronous event of this object was read. */
  void happened(AsyncEventType event) {}

  /** Returns the address of the C object. */
  final long address() {
    return core.address();
  }
}
