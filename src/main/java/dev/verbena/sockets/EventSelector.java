package dev.verbena.sockets;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.io.EventSet;
import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A selector by events: it waits in {@code epoll_wait} for the descriptors of the channels. A
 * selection examines the channels that have an event, those that were ready in the last selection,
 * and those that were changed; not the others, however many they are.
 */
final class EventSelector extends AbstractSelector {
  /** Without a limit of time. */
  static final long FOREVER = Long.MAX_VALUE;

  private final Map<Integer, EventKey> byNumber = new ConcurrentHashMap<>();
  private final AtomicInteger numbers = new AtomicInteger();
  private final Set<SelectionKey> keys = ConcurrentHashMap.newKeySet();
  private final Set<SelectionKey> publicKeys = Collections.unmodifiableSet(keys);

  /** Guarded by the selector and by the public set, as Selector specifies. */
  private final Map<SelectionKey, Boolean> selected = new HashMap<>();

  /** A view from which keys can be removed, and to which none can be added. */
  private final Set<SelectionKey> publicSelected = selected.keySet();

  /** The keys whose channels other threads have changed. */
  private final Queue<EventKey> changed = new ConcurrentLinkedQueue<>();

  // Of the thread that selects.
  private final List<EventKey> examined = new ArrayList<>();
  private final List<EventKey> ready = new ArrayList<>();
  private long selection;

  /** Whether the last selection found a channel that is ready, or has an event that remains. */
  private boolean isReady;

  private final EventSet descriptors;

  /** Whether a thread was woken that has not noticed it. */
  private final AtomicBoolean isSignalled = new AtomicBoolean();

  /** Whether {@link #wakeup} was called since the last selection. */
  private final AtomicBoolean isWoken = new AtomicBoolean();

  private final Object wakeLock = new Object();

  /** Whether the descriptors are closed; guarded by the wake lock. */
  private boolean isReleased;

  private volatile @Nullable Thread selecting;

  EventSelector(SelectorProvider provider) throws IOException {
    super(provider);
    descriptors = Failures.or(EventSet::open);
  }

  private void requireOpen() {
    if (!isOpen()) {
      throw new ClosedSelectorException();
    }
  }

  EventSet descriptors() {
    return descriptors;
  }

  @Override
  protected SelectionKey register(
      AbstractSelectableChannel channel, int operations, @Nullable Object attachment) {
    PolledChannel polled = polled(channel);
    requireOpen();
    EventKey key =
        new EventKey((SelectableChannel) channel, polled, this, numbers.getAndIncrement());
    key.attach(attachment);
    byNumber.put(key.number(), key);
    keys.add(key);
    polled.keys().add(key);
    try {
      key.interestOps(operations);
    } catch (CancelledKeyException e) {
      // Another thread has found the key, and cancelled it: that one is returned.
    }
    if (!isOpen()) {
      forget(key); // It was never selected: the sets are those of the thread that closes.
      throw new ClosedSelectorException();
    }
    return key;
  }

  private static PolledChannel polled(SelectableChannel channel) {
    if (channel instanceof StreamChannel stream) {
      return stream.polled();
    } else if (channel instanceof PolledChannel own) {
      return own;
    } else if (JdkChannels.has(channel)) {
      Libc.require("a selector of channels of the JDK", "register RDMA channels alone");
      return new JdkChannel(channel);
    }
    throw new IllegalSelectorException();
  }

  /** Removes a key; called by the thread that selects or closes. */
  private void remove(EventKey key) {
    selected.remove(key);
    ready.remove(key);
    forget(key);
  }

  private void forget(EventKey key) {
    keys.remove(key);
    byNumber.remove(key.number());
    key.polled().keys().remove(key);
    deregister((AbstractSelectionKey) key);
    key.cancel(); // That was without effect if the channel does not have the key yet.
    key.attach();
    key.polled().deregistered();
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
    return selectKeys(0, null);
  }

  @Override
  public int select() throws IOException {
    return selectKeys(FOREVER, null);
  }

  @Override
  public int select(long milliseconds) throws IOException {
    return selectKeys(limit(milliseconds), null);
  }

  @Override
  public int selectNow(Consumer<SelectionKey> action) throws IOException {
    return selectKeys(0, Objects.requireNonNull(action));
  }

  @Override
  public int select(Consumer<SelectionKey> action, long milliseconds) throws IOException {
    return selectKeys(limit(milliseconds), Objects.requireNonNull(action));
  }

  private static long limit(long milliseconds) {
    if (milliseconds < 0) {
      throw new IllegalArgumentException("Negative timeout: " + milliseconds);
    }
    return milliseconds == 0 ? FOREVER : TimeUnit.MILLISECONDS.toNanos(milliseconds);
  }

  /** Selects keys; with an action, performs it for each and leaves the selected set alone. */
  private int selectKeys(long nanos, @Nullable Consumer<SelectionKey> action) throws IOException {
    synchronized (this) {
      requireOpen();
      if (selecting != null) {
        throw new IllegalStateException("select in progress"); // In an action of this thread.
      }
      synchronized (publicSelected) {
        selecting = Thread.currentThread();
        try {
          poll(nanos);
          int count = 0;
          for (EventKey key : examined) {
            if (key.found() != 0 && key.isValid()) {
              count += (action == null ? update(key) : consume(key, action)) ? 1 : 0;
            }
          }
          return count;
        } finally {
          selecting = null;
        }
      }
    }
  }

  private void removeCancelled() {
    Set<SelectionKey> cancelled = cancelledKeys();
    synchronized (cancelled) {
      for (Iterator<SelectionKey> all = cancelled.iterator(); all.hasNext(); ) {
        SelectionKey key = all.next();
        all.remove(); // First: a key that cannot be removed does not keep the others.
        remove((EventKey) key);
      }
    }
  }

  /** Polls until a channel is ready, the time has passed, or the selector is woken. */
  private void poll(long nanos) throws IOException {
    long start = Time.now();
    try {
      removeCancelled();
      if (nanos != 0) {
        begin();
      }
      long left = nanos;
      boolean woken;
      do {
        pollOnce(left);
        woken = isWoken.getAndSet(false);
        if (nanos != FOREVER) {
          left = nanos - (Time.now() - start);
        }
        removeCancelled();
        // A channel that was ready also ends a selection if its key is selected already: as in the
        // JDK, so that a program that left keys in the set finds them.
      } while (!isReady && !woken && left > 0 && isOpen());
    } catch (VerbsException e) {
      throw Failures.of(e);
    } finally {
      if (nanos != 0) {
        end();
      }
    }
  }

  private void pollOnce(long nanos) {
    selection++;
    examined.clear();
    isReady = false;
    for (EventKey key : ready) {
      examine(key, 0);
    }
    ready.clear();
    examineChanged();
    int count = descriptors.await(isReady || isWoken.get() ? 0 : nanos);
    isSignalled.set(false);
    for (int i = 0; i < count; i++) {
      EventKey key = byNumber.get(descriptors.number(i));
      if (key != null) {
        key.polled().readEvents(key);
        examine(key, descriptors.events(i));
        isReady |= key.polled().isReportedWhileReady(); // As in the JDK: the event will be again.
      }
    }
    examineChanged();
    for (EventKey key : examined) {
      if (key.found() != 0 && !key.polled().isReportedWhileReady()) {
        ready.add(key);
      }
    }
  }

  private void examineChanged() {
    EventKey key = changed.poll();
    while (key != null) {
      key.dequeued();
      examine(key, 0);
      key = changed.poll();
    }
  }

  /** Examines a channel, after events of its descriptor or without. */
  private void examine(EventKey key, int events) {
    int operations = 0;
    if (key.isValid()) {
      key.attach();
      operations = key.polled().readyOperations(key.interest(), events);
    }
    isReady |= operations != 0;
    if (key.found(operations, selection)) {
      examined.add(key);
    }
  }

  /** Updates the ready set of a key that is selected; returns whether it has changed. */
  private boolean update(EventKey key) {
    int operations = key.found();
    if (selected.put(key, true) == null) {
      key.ready(operations);
      return true;
    }
    int before = key.ready();
    key.ready(before | operations);
    return (operations & ~before) != 0;
  }

  private boolean consume(EventKey key, Consumer<SelectionKey> action) {
    key.ready(key.found());
    action.accept(key);
    requireOpen(); // The action may have closed the selector.
    return true;
  }

  @Override
  public Selector wakeup() {
    isWoken.set(true);
    interrupt();
    return this;
  }

  /** Makes a selection examine a channel, also one that waits now. */
  void examine(EventKey key) {
    examineNext(key);
    if (selecting != null) {
      interrupt();
    }
  }

  /** Makes the next selection examine a channel. */
  void examineNext(EventKey key) {
    if (key.enqueue()) {
      changed.add(key);
    }
  }

  private void interrupt() {
    if (isSignalled.compareAndSet(false, true)) {
      synchronized (wakeLock) {
        if (!isReleased) {
          descriptors.wake();
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
          remove((EventKey) key);
        }
        synchronized (wakeLock) {
          isReleased = true;
          descriptors.close();
        }
      }
    }
  }
}
