package dev.verbena.sockets;

import dev.verbena.internal.io.EventSet;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;

/** A channel of the JDK, as selectors of this package wait for it: by its descriptor. */
final class JdkChannel implements PolledChannel {
  private static final int READS = SelectionKey.OP_READ | SelectionKey.OP_ACCEPT;
  private static final int WRITES = SelectionKey.OP_WRITE | SelectionKey.OP_CONNECT;

  private final SelectableChannel channel;
  private final List<EventKey> keys;

  JdkChannel(SelectableChannel channel) {
    this(channel, new ArrayList<>(1));
  }

  /** Makes one whose keys are those of another channel. */
  JdkChannel(SelectableChannel channel, List<EventKey> keys) {
    this.channel = channel;
    this.keys = keys;
  }

  @Override
  public List<EventKey> keys() {
    return keys;
  }

  @Override
  public int descriptor() {
    return JdkChannels.descriptor(channel);
  }

  @Override
  public int events(int operations) {
    return ((operations & READS) != 0 ? EventSet.READABLE : 0)
        | ((operations & WRITES) != 0 ? EventSet.WRITABLE : 0);
  }

  @Override
  public boolean isReportedWhileReady() {
    return true; // By the kernel.
  }

  @Override
  public int readyOperations(int operations, int events) {
    if ((events & ~(EventSet.READABLE | EventSet.WRITABLE)) != 0) {
      return operations; // Each of them returns or throws at once.
    }
    int possible = operations;
    if (channel instanceof SocketChannel socket) {
      possible &= socket.isConnected() ? ~SelectionKey.OP_CONNECT : SelectionKey.OP_CONNECT;
    }
    return possible
        & (((events & EventSet.READABLE) != 0 ? READS : 0)
            | ((events & EventSet.WRITABLE) != 0 ? WRITES : 0));
  }

  @Override
  public void deregistered() {
    if (!channel.isOpen() && !channel.isRegistered()) {
      JdkChannels.kill(channel);
    }
  }
}
