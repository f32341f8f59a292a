package dev.verbena.sockets;

import dev.verbena.VerbsException;
import dev.verbena.internal.EventFile;
import dev.verbena.internal.Rpoll;
import dev.verbena.internal.TimerFile;
import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A selector that waits in {@code rpoll}, whose cost grows with the number of channels.
 *
 * <p>Besides the rsockets it waits for two ordinary descriptors: an event file, by which it is
 * woken, and a timer.
 */
final class RpollSelector extends AbstractSelector {
  /**
   * Platform threads that wait in {@code rpoll} for virtual threads, which would not release their
   * carriers there.
   */
  private static final Executor WAITERS =
      Executors.newCachedThreadPool(
          Thread.ofPlatform().daemon().name("verbena-select-", 0).factory());

  private final Set<SelectionKey> keys = ConcurrentHashMap.newKeySet();
  private final Set<SelectionKey> publicKeys = Collections.unmodifiableSet(keys);

  /** Guarded by the selector and by the public set, as Selector specifies. */
  private final Set<SelectionKey> selected = new HashSet<>();

  private final Set<SelectionKey> publicSelected = new WithoutAdd(selected);

  /** Of the thread that selects. */
  private final Rpoll rpoll = new Rpoll();

  private final List<RpollKey> polled = new ArrayList<>();

  /**
   * Whether a channel was ready, also one whose key is selected already: then a selection returns,
   * as in the JDK, so that a program that left keys in the set finds them.
   */
  private boolean isReady;

  private final EventFile wake;
  private final TimerFile timer;

  /** Whether the event file is readable, or about to be. */
  private final AtomicBoolean isSignalled = new AtomicBoolean();

  /** Whether {@link #wakeup} was called since the last selection. */
  private final AtomicBoolean isWoken = new AtomicBoolean();

  private final Object wakeLock = new Object();

  /** Whether the descriptors are closed; guarded by the wake lock. */
  private boolean isReleased;

  RpollSelector(RdmaSelectorProvider provider) throws IOException {
    super(provider);
    wake = Failures.or(EventFile::open);
    TimerFile opened = null;
    try {
      opened = Failures.or(TimerFile::open);
    } finally {
      if (opened == null) {
        wake.close();
      }
    }
    timer = opened;
  }

  private void requireOpen() {
    if (!isOpen()) {
      throw new ClosedSelectorException();
    }
  }

  @Override
  protected SelectionKey register(
      AbstractSelectableChannel channel, int operations, @Nullable Object attachment) {
    if (!(channel instanceof PolledChannel polledChannel)) {
      throw new IllegalSelectorException();
    }
    RpollKey key = new RpollKey((SelectableChannel) channel, this);
    key.attach(attachment);
    key.interestOps(operations);
    requireOpen();
    polledChannel.rsocket().add(this);
    keys.add(key);
    if (!isOpen()) {
      remove(key);
      throw new ClosedSelectorException();
    }
    return key;
  }

  private void remove(RpollKey key) {
    keys.remove(key);
    selected.remove(key);
    key.polled().rsocket().remove(this);
    deregister((AbstractSelectionKey) key);
  }

  @Override
  public Set<SelectionKey> keys() {
    requireOpen();
    return publicKeys;
  }

  @Override
  public Set<SelectionKey> selectedKeys() {
    requireOpen();
    return publicSelected;
  }

  @Override
  public int selectNow() throws IOException {
    return selectKeys(0);
  }

  @Override
  public int select() throws IOException {
    return selectKeys(Rsocket.FOREVER);
  }

  @Override
  public int select(long milliseconds) throws IOException {
    if (milliseconds < 0) {
      throw new IllegalArgumentException("Negative timeout: " + milliseconds);
    }
    return selectKeys(
        milliseconds == 0 ? Rsocket.FOREVER : TimeUnit.MILLISECONDS.toNanos(milliseconds));
  }

  private int selectKeys(long nanos) throws IOException {
    synchronized (this) {
      requireOpen();
      synchronized (publicSelected) {
        removeCancelled();
        try {
          return poll(nanos);
        } catch (VerbsException e) {
          throw Failures.of(e);
        } finally {
          removeCancelled();
        }
      }
    }
  }

  private void removeCancelled() {
    Set<SelectionKey> cancelled = cancelledKeys();
    synchronized (cancelled) {
      for (SelectionKey key : cancelled) {
        remove((RpollKey) key);
      }
      cancelled.clear();
    }
  }

  /** Polls until a channel is ready, the time has passed, or the selector is woken. */
  private int poll(long nanos) {
    long start = System.nanoTime();
    try {
      if (nanos != 0) {
        begin();
      }
      long left = nanos;
      while (true) {
        int updated = pollOnce(left);
        boolean woken = isWoken.getAndSet(false);
        if (nanos != Rsocket.FOREVER) {
          left = nanos - (System.nanoTime() - start);
        }
        if (isReady || woken || left <= 0 || !isOpen()) {
          return updated;
        }
        removeCancelled();
      }
    } finally {
      if (nanos != 0) {
        end();
      }
    }
  }

  private int pollOnce(long nanos) {
    try {
      boolean isExaminedAtIntervals = prepare();
      if (nanos <= 0) {
        rpoll.now();
      } else {
        long limit = isExaminedAtIntervals ? Math.min(nanos, Rsocket.TICK) : nanos;
        if (limit != Rsocket.FOREVER) {
          timer.set(limit);
          rpoll.add(timer.descriptor(), Rpoll.POLLIN);
        }
        await();
      }
    } finally {
      for (RpollKey key : polled) {
        key.polled().rsocket().leavePoll();
      }
    }
    if (rpoll.events(0) != 0) {
      int _ = wake.take();
      isSignalled.set(false);
    }
    int updated = 0;
    isReady = false;
    for (int i = 0; i < polled.size(); i++) {
      RpollKey key = polled.get(i);
      int ready = key.polled().readyOperations(rpoll.events(i + 1), key.interest());
      if (ready != 0) {
        isReady = true;
        updated += update(key, ready) ? 1 : 0;
      }
    }
    return updated;
  }

  /**
   * Waits. For a virtual thread another thread waits, since a virtual thread that is in C does not
   * release its carrier.
   */
  private void await() {
    if (!Thread.currentThread().isVirtual()) {
      rpoll.await();
      return;
    }
    try {
      CompletableFuture.runAsync(rpoll::await, WAITERS).join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof VerbsException failure ? failure : e;
    }
  }

  /** Fills the array; returns whether it has channels that are examined at intervals. */
  private boolean prepare() {
    rpoll.clear();
    polled.clear();
    rpoll.add(wake.descriptor(), Rpoll.POLLIN);
    boolean isExaminedAtIntervals = false;
    for (SelectionKey registered : keys) {
      RpollKey key = (RpollKey) registered;
      int interest = key.interest();
      PolledChannel channel = key.polled();
      if (interest != 0 && channel.rsocket().tryEnterPoll()) {
        polled.add(key);
        rpoll.add(channel.rsocket().descriptor(), channel.pollEvents(interest));
        isExaminedAtIntervals |= channel.isExaminedAtIntervals();
      }
    }
    return isExaminedAtIntervals;
  }

  /** Updates the ready set of a key; returns whether it has changed. */
  private boolean update(RpollKey key, int ready) {
    if (selected.add(key)) {
      key.ready(ready);
      return true;
    }
    int before = key.ready();
    key.ready(before | ready);
    return (ready & ~before) != 0;
  }

  @Override
  public Selector wakeup() {
    isWoken.set(true);
    interruptPoll();
    return this;
  }

  /** Makes the thread that selects examine all channels again. */
  void interruptPoll() {
    if (isSignalled.compareAndSet(false, true)) {
      synchronized (wakeLock) {
        if (!isReleased) {
          wake.add();
        }
      }
    }
  }

  @Override
  protected void implCloseSelector() {
    wakeup();
    synchronized (this) {
      synchronized (publicSelected) {
        for (SelectionKey key : keys) {
          remove((RpollKey) key);
        }
        synchronized (wakeLock) {
          isReleased = true;
          wake.close();
          timer.close();
        }
      }
    }
  }

  /** A set from which elements can be removed, and to which none can be added. */
  private static final class WithoutAdd extends AbstractSet<SelectionKey> {
    private final Set<SelectionKey> set;

    WithoutAdd(Set<SelectionKey> set) {
      this.set = set;
    }

    @Override
    public int size() {
      return set.size();
    }

    @Override
    public boolean contains(@Nullable Object key) {
      return set.contains(key);
    }

    @Override
    public boolean remove(@Nullable Object key) {
      return set.remove(key);
    }

    @Override
    public void clear() {
      set.clear();
    }

    @Override
    public Iterator<SelectionKey> iterator() {
      return set.iterator();
    }
  }
}
