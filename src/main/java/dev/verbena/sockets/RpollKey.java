package dev.verbena.sockets;

import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectionKey;

/** The registration of a channel with a selector. */
final class RpollKey extends AbstractSelectionKey {
  private final SelectableChannel channel;
  private final RpollSelector selector;
  private volatile int interest;
  private volatile int ready;

  RpollKey(SelectableChannel channel, RpollSelector selector) {
    this.channel = channel;
    this.selector = selector;
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
    return this;
  }

  @Override
  public int readyOps() {
    requireValid();
    return ready;
  }

  /** Returns the channel, as selectors wait for it. */
  PolledChannel polled() {
    return (PolledChannel) channel;
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
}
