package dev.verbena.internal.life;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What destroying C objects and reading events must observe because a device can be lost: reset,
 * unplugged or unbound from its driver while it is in use.
 *
 * <p>The kernel then destroys all objects of the device itself, and answers EIO to every later
 * call, also to those that destroy an object. libibverbs returns that EIO and keeps its memory of
 * the object; with the environment variable {@code RDMAV_ALLOW_DISASSOC_DESTROY} it frees the
 * memory and returns success. It then waits for no event that a thread is reading, and so the
 * thread may use memory that is being freed: see {@code ibv_open_device(3)}. With the variable,
 * therefore, no event is read during the destruction of an object of the same context.
 */
public final class DeviceLoss {
  private static final System.Logger LOG = System.getLogger("dev.verbena");

  /** As libibverbs reads it: set, and not empty. */
  private static final boolean FREES =
      !System.getenv().getOrDefault("RDMAV_ALLOW_DISASSOC_DESTROY", "").isEmpty();

  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private volatile boolean reported;
  private volatile boolean logged;

  private final Supplier<String> context;
  private final BooleanSupplier answersEio;

  /**
   * Creates the rules of one context.
   *
   * @param context names it
   * @param answersEio asks the kernel whether the device is lost
   */
  public DeviceLoss(Supplier<String> context, BooleanSupplier answersEio) {
    this.context = context;
    this.answersEio = answersEio;
  }

  /** Records that an event reported the loss. */
  public void report() {
    reported = true;
  }

  /** Returns whether the device was lost: an event reported it, or the kernel answers EIO. */
  public boolean isKnown() {
    if (!reported && answersEio.getAsBoolean()) {
      reported = true;
    }
    return reported;
  }

  /** Reads an event, translates it and acknowledges it. */
  public <T> T reading(Supplier<T> read) {
    return excluding(lock.writeLock(), read);
  }

  /**
   * Destroys a C object.
   *
   * @param loss of the context of the object; null if it belongs to no device
   * @param destruction calls C
   * @throws VerbsException if that fails, except that EIO of a lost device counts as success
   */
  static void destroy(@Nullable DeviceLoss loss, Runnable destruction) {
    if (loss == null) {
      destruction.run();
      return;
    }
    Boolean _ =
        loss.excluding(
            loss.lock.readLock(),
            () -> {
              loss.destroy(destruction);
              return true;
            });
  }

  private void destroy(Runnable destruction) {
    try {
      destruction.run();
    } catch (VerbsException e) {
      if (e.errno() != Errno.EIO || !isKnown()) {
        throw e;
      }
      log(e);
    }
  }

  private <T> T excluding(Lock held, Supplier<T> action) {
    if (!FREES) {
      return action.get();
    }
    held.lock();
    try {
      return action.get();
    } finally {
      held.unlock();
    }
  }

  private void log(VerbsException e) {
    if (!logged) {
      logged = true;
      LOG.log(
          System.Logger.Level.INFO,
          "the device of "
              + context.get()
              + " was lost: the kernel has destroyed its objects; libibverbs keeps its memory of"
              + " them unless RDMAV_ALLOW_DISASSOC_DESTROY is set",
          e);
    }
  }
}
