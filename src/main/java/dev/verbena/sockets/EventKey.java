package dev.verbena.sockets;

import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectionKey;
import java.util.concurrent.atomic.AtomicBoolean;

/** The registration of a channel with a selector. */
final class EventKey extends AbstractSelectionKey {
  private static final int NO_DESCRIPTOR = -1;

  private final SelectableChannel channel;
  private final PolledChannel polled;
  private final EventSelector selector;
  private final int number;
  private final AtomicBoolean isQueued = new AtomicBoolean();
  private volatile int interest;
  private volatile int ready;

  /** The descriptor that the selector waits for; guarded by this, as are the fields below. */
  private int descriptor = NO_DESCRIPTOR;

  private int events;

  /** Of the thread that selects: the operations that are ready in this selection. */
  private int found;

  /** Of the thread that selects: the selection that examined the key last. */
  private long selection;

  EventKey(SelectableChannel channel, PolledChannel polled, EventSelector selector, int number) {
    this.channel = channel;
    this.polled = polled;
    this.selector = selector;
    this.number = number;
  }

  @Override
  public SelectableChannel channel() {
    return channel;
  }

  @Override
  public Selector selector() {
    return selector;
  }

  private void requireValid() {
    if (!isValid()) {
      throw new CancelledKeyException();
    }
  }

  @Override
  public int interestOps() {
    requireValid();
    return interest;
  }

  @Override
  public SelectionKey interestOps(int operations) {
    requireValid();
    if ((operations & ~channel.validOps()) != 0) {
      throw new IllegalArgumentException(
          "operations 0x%x: this channel has 0x%x".formatted(operations, channel.validOps()));
    }
    // Under the lock that the default methods interestOpsOr and interestOpsAnd hold.
    synchronized (this) {
      interest = operations;
    }
    selector.examineNext(this);
    return this;
  }

  @Override
  public int readyOps() {
    requireValid();
    return ready;
  }

  /** Returns the channel, as selectors wait for it. */
  PolledChannel polled() {
    return polled;
  }

  /** Returns the interest set; 0 of a cancelled key. */
  int interest() {
    return isValid() ? interest : 0;
  }

  /** Returns the ready set, also of a cancelled key. */
  int ready() {
    return ready;
  }

  void ready(int operations) {
    ready = operations;
  }

  /** Makes the selector examine the channel, whose state has changed. */
  void changed() {
    selector.examine(this);
  }

  /** Marks the key as queued; returns whether it was not. */
  boolean enqueue() {
    return isQueued.compareAndSet(false, true);
  }

  void dequeued() {
    isQueued.set(false);
  }

  /** The same in each run of a simulation, as is the order in a set then. */
  @Override
  public int hashCode() {
    return number;
  }

  /** Returns the number of the key in its selector. */
  int number() {
    return number;
  }

  /**
   * Makes the selector wait for the descriptor of the channel, as the interest set wants it; not
   * any more if the key is invalid, or the channel closed.
   */
  synchronized void attach() {
    int current = isValid() ? polled.descriptor() : NO_DESCRIPTOR;
    int wanted = current == NO_DESCRIPTOR ? 0 : polled.events(interest);
    if (descriptor == NO_DESCRIPTOR && wanted != 0) {
      try {
        selector.descriptors().add(current, number, wanted);
      } catch (UnsupportedOperationException e) {
        selector.examineNext(this); // Each selection throws.
        throw e;
      }
      descriptor = current;
    } else if (descriptor != NO_DESCRIPTOR && wanted == 0) {
      selector.descriptors().remove(descriptor);
      descriptor = NO_DESCRIPTOR;
    } else if (wanted != events) {
      selector.descriptors().change(descriptor, number, wanted);
    }
    events = wanted;
  }

  int found() {
    return found;
  }

  /**
   * Records which operations a selection has found ready, in addition to those that it has found
   * before: events of a descriptor are reported once. Returns whether it is the first time.
   */
  boolean found(int operations, long inSelection) {
    boolean isFirst = selection != inSelection;
    selection = inSelection;
    found = isFirst ? operations : found | operations;
    return isFirst;
  }
}
