package dev.verbena.internal;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Block;
import dev.verbena.internal.foreign.FailureLog;
import dev.verbena.raw.ibv_td_init_attr;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The thread domains of the direct queue pairs of a context. A thread domain has a doorbell
 * register that the provider library does not write to for other queue pairs. A direct queue pair
 * is created in a parent domain with one, as it does not take the locks of the provider's
 * registers.
 *
 * <p>One thread domain is shared: any number of queue pairs may write eight bytes at once to its
 * register. Each of the others belongs to one queue pair at a time, which may write more.
 */
public final class ThreadDomains {
  /** How many belong to one queue pair each. A page of the device has the registers of two. */
  static final int OWN = 64;

  private static final System.Logger LOG = System.getLogger(ThreadDomains.class.getName());

  private static final FailureLog FAILURES =
      new FailureLog(LOG, "a parent domain could not be deallocated, and will be later");

  private final Calls calls;
  private final long[] free = new long[OWN];
  private int freeCount;
  private int ownCount;
  private long shared;

  /** Whether a parent domain could not be deallocated, and will not be. */
  private volatile boolean hasLeftParents;

  /** Places that could not be closed, as there was no memory. */
  private @Nullable Place unclosed;

  /** The C functions that are called. */
  interface Calls {
    /** Returns a new {@code ibv_td}. */
    long allocate();

    void deallocate(long threadDomain);

    void deallocateParent(long parentDomain);
  }

  ThreadDomains(Calls calls) {
    this.calls = calls;
  }

  /** Returns the thread domains of an {@code ibv_context}, of which none is allocated yet. */
  static ThreadDomains of(Provider provider, long context) {
    return new ThreadDomains(
        new Calls() {
          @Override
          public long allocate() {
            Block attr = new Block(ibv_td_init_attr.sizeof());
            long threadDomain = provider.verbs().ibv_alloc_td(context, attr.address(0));
            attr.keep();
            return threadDomain;
          }

          @Override
          public void deallocate(long threadDomain) {
            provider.verbs().ibv_dealloc_td(threadDomain);
          }

          @Override
          public void deallocateParent(long parentDomain) {
            provider.verbs().ibv_dealloc_pd(parentDomain);
          }
        });
  }

  /** The parent domain of one queue pair, to be closed after the queue pair. */
  public final class Place implements AutoCloseable {
    /** The thread domain of this queue pair alone; 0 if it uses the shared one. */
    private final long own;

    private long domain;

    /** Of those that could not be closed. */
    private @Nullable Place next;

    private boolean isUnclosed;

    private Place(long own) {
      this.own = own;
    }

    /** Returns the {@code ibv_pd} to create the queue pair on. */
    public long domain() {
      return domain;
    }

    /** Returns whether no other queue pair writes to the register of the thread domain. */
    public boolean ownsRegister() {
      return own != 0;
    }

    /** Deallocates the parent domain, and lets another queue pair use the thread domain. */
    @Override
    public void close() {
      if (domain != 0) {
        try {
          deallocate();
        } catch (Throwable t) { // The queue pair is destroyed, and must not seem to be open.
          FAILURES.log(t);
          closeLater(this);
        }
      }
    }

    private void deallocate() {
      try {
        calls.deallocateParent(domain);
      } catch (VerbsException e) { // It still has a queue pair, and its register.
        hasLeftParents = true;
        LOG.log(System.Logger.Level.DEBUG, "of a direct queue pair: {0}", e);
        domain = 0;
        return;
      }
      domain = 0;
      if (own != 0) {
        giveBack(own);
      }
    }
  }

  /**
   * Returns a place for a queue pair, with a thread domain of its own if there is one.
   *
   * @param parentDomain creates the parent domain with an {@code ibv_td}, and returns its address
   * @throws VerbsException if there is no thread domain, or the parent domain cannot be created
   */
  public Place place(LongUnaryOperator parentDomain) {
    long own = take();
    Place place = null;
    try {
      Place created = new Place(own);
      created.domain = parentDomain.applyAsLong(own == 0 ? shared() : own);
      place = created;
      return created;
    } finally {
      if (place == null && own != 0) {
        giveBack(own);
      }
    }
  }

  private synchronized long shared() {
    if (shared == 0) {
      shared = calls.allocate();
    }
    return shared;
  }

  /** Returns a thread domain for one queue pair; 0 if there are no more. */
  private synchronized long take() {
    long _ = shared(); // While there is room for it.
    if (freeCount > 0) {
      return free[--freeCount];
    }
    if (ownCount == OWN) {
      return 0;
    }
    try {
      long own = calls.allocate();
      ownCount++;
      return own;
    } catch (VerbsException e) {
      LOG.log(System.Logger.Level.DEBUG, "a queue pair shares a doorbell register: {0}", e);
      return 0;
    }
  }

  /** Returns whether a parent domain could not be deallocated, and will not be. */
  public boolean hasLeftParents() {
    return hasLeftParents;
  }

  private synchronized void closeLater(Place place) {
    if (!place.isUnclosed) {
      place.isUnclosed = true;
      place.next = unclosed;
      unclosed = place;
    }
  }

  /** Closes places again for which there was no memory, before a protection domain is closed. */
  public synchronized void closeAgain() {
    Place place = unclosed;
    unclosed = null;
    while (place != null) {
      Place next = place.next;
      place.isUnclosed = false;
      place.close();
      place = next;
    }
  }

  private synchronized void giveBack(long own) {
    free[freeCount++] = own;
  }

  /** Deallocates all, before the context is closed; new ones are allocated if it stays open. */
  void close() {
    closeAgain();
    synchronized (this) {
      while (freeCount > 0) {
        deallocate(free[freeCount - 1]);
        freeCount--;
        ownCount--;
      }
      if (shared != 0) {
        deallocate(shared);
        shared = 0;
      }
    }
  }

  private void deallocate(long threadDomain) {
    try {
      calls.deallocate(threadDomain);
    } catch (VerbsException e) {
      LOG.log(System.Logger.Level.DEBUG, "of a direct queue pair: {0}", e);
    }
  }
}
