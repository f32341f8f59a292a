package dev.verbena.aeron;

import dev.verbena.VerbsException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * The queues of a socket: one for each local device from which its peers are reached, so one unless
 * the socket is bound to the wildcard address. The {@link Worker} creates and closes them.
 */
final class Queues {
  /** How many requests may wait for the worker, whoever sends to the socket. */
  private static final int MAX_PENDING = 64;

  /** Why a request beyond these has no result. */
  static final String BUSY = "too many peers at once";

  private static final DatagramQueue[] NONE = {};

  private final DatagramChannel socket;
  private final Group group;
  private final int receiveSlots;

  /** What a socket with an address of its own has asked for, and the address. */
  private Pending<DatagramQueue> own;

  private InetAddress ownAddress;

  private final AtomicInteger pending = new AtomicInteger();

  /** Of the worker. */
  private final Map<LocalDevice, DatagramQueue> byDevice = new HashMap<>();

  private boolean closed;

  private volatile DatagramQueue[] all = NONE;

  /**
   * Creates the queues of a socket.
   *
   * @param group the group that the socket is one of; null if it is not one of a group
   */
  Queues(DatagramChannel socket, int receiveSlots, Group group) {
    this.socket = socket;
    this.group = group;
    this.receiveSlots = receiveSlots;
  }

  /** Returns the queues that can be used. */
  DatagramQueue[] all() {
    return all;
  }

  /** Asks for the queue toward a peer, if that was not done before. */
  Pending<DatagramQueue> request(InetSocketAddress peer) {
    InetAddress local = group == null ? localAddress() : group.local();
    if (local.isAnyLocalAddress()) {
      return ask(() -> Devices.localToward(peer));
    }
    boolean isOver =
        own == null
            || !local.equals(ownAddress)
            || own.failure() != null
            || (own.result() != null && own.result().failure() != null);
    if (isOver) {
      own = ask(() -> local);
      ownAddress = local;
    }
    return own;
  }

  boolean areOfGroup() {
    return group != null;
  }

  /** Asks for the queue of the group, if there is a group, again if the last one has failed. */
  void join() {
    if (group != null) {
      Pending<DatagramQueue> _ = request(group.address());
    }
  }

  private InetAddress localAddress() {
    try {
      return ((InetSocketAddress) socket.getLocalAddress()).getAddress();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Pending<DatagramQueue> ask(Supplier<InetAddress> local) {
    if (pending.incrementAndGet() > MAX_PENDING) {
      pending.decrementAndGet();
      Pending<DatagramQueue> refused = new Pending<>();
      refused.fail(BUSY);
      return refused;
    }
    return Worker.ask(
        () -> {
          try {
            return of(local.get());
          } finally {
            pending.decrementAndGet();
          }
        });
  }

  private DatagramQueue of(InetAddress local) {
    if (closed) {
      throw new NoDeviceException("the channel is closed");
    }
    try {
      LocalDevice device = Devices.of(local);
      DatagramQueue queue = byDevice.get(device);
      if (queue == null) {
        queue = device.createQueue(receiveSlots, group);
        byDevice.put(device, queue);
        publish();
      }
      return queue;
    } catch (RuntimeException e) {
      Level level = e instanceof NoDeviceException ? Level.INFO : Level.WARNING;
      String what = local.getHostAddress() + consequence() + ": ";
      Log.once(level, what + reason(e), what + e.getMessage());
      throw e;
    }
  }

  private String consequence() {
    return group != null && group.isMember()
        ? " receives nothing that is sent by RDMA to " + group.address()
        : " stays on UDP";
  }

  /** Returns why there is no queue, without the numbers of objects, which are others each time. */
  private static String reason(RuntimeException e) {
    return e instanceof VerbsException failed
        ? new VerbsException(failed.function(), failed.errno()).getMessage()
        : e.getMessage();
  }

  private void publish() {
    all = byDevice.values().toArray(NONE);
  }

  /**
   * Closes a queue that failed. Called by the thread of the socket, which does not use it again.
   */
  void discard(DatagramQueue queue) {
    Worker.run(
        () -> {
          if (byDevice.remove(queue.device(), queue)) {
            publish();
            queue.close();
          }
        });
  }

  /** Closes all queues after what the worker was asked for before. */
  void close() {
    Worker.run(
        () -> {
          closed = true;
          DatagramQueue[] open = all;
          byDevice.clear();
          publish();
          for (DatagramQueue queue : open) {
            Worker.run(queue::close); // Whether or not the others can be closed.
          }
        });
  }
}
