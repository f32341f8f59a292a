package dev.verbena.aeron;

import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The queues of a socket: one for each local device from which its peers are reached, so one unless
 * the socket is bound to the wildcard address. The {@link Worker} creates and closes them.
 */
final class Queues {
  /** How many requests may wait for the worker, whoever sends to the socket. */
  private static final int MAX_PENDING = 64;

  private static final DatagramQueue[] NONE = {};

  private final int receiveSlots;
  private final AtomicInteger pending = new AtomicInteger();

  /** Of the worker. */
  private final Map<LocalDevice, DatagramQueue> byDevice = new HashMap<>();

  private boolean closed;

  private volatile DatagramQueue[] all = NONE;

  Queues(int receiveSlots) {
    this.receiveSlots = receiveSlots;
  }

  /** What the worker was asked for. */
  static final class Request {
    /** The queue; null until there is one. */
    volatile DatagramQueue queue;

    /** Why there is none; null otherwise. */
    volatile String refusal;
  }

  /** Returns the queues that can be used. */
  DatagramQueue[] all() {
    return all;
  }

  /**
   * Asks for the queue toward a peer.
   *
   * @param local the address that the socket is bound to, or the wildcard address
   */
  Request request(InetAddress local, InetSocketAddress peer) {
    Request request = new Request();
    if (pending.incrementAndGet() > MAX_PENDING) {
      pending.decrementAndGet();
      request.refusal = "too many peers at once";
      return request;
    }
    Worker.run(
        () -> {
          try {
            InetAddress from = local.isAnyLocalAddress() ? Devices.localToward(peer) : local;
            fulfil(request, from);
          } catch (NoDeviceException e) {
            request.refusal = e.getMessage();
          } finally {
            if (request.queue == null && request.refusal == null) { // An error, as of memory.
              request.refusal = "the device could not be used";
            }
            pending.decrementAndGet();
          }
        });
    return request;
  }

  private void fulfil(Request request, InetAddress from) throws NoDeviceException {
    if (closed) {
      request.refusal = "the channel is closed";
      return;
    }
    try {
      LocalDevice device = Devices.of(from);
      DatagramQueue queue = byDevice.get(device);
      if (queue == null) {
        queue = device.createQueue(receiveSlots);
        byDevice.put(device, queue);
        publish();
      }
      request.queue = queue;
    } catch (NoDeviceException e) {
      Log.once(Level.INFO, from.getHostAddress() + " stays on UDP: " + e.getMessage());
      throw e;
    } catch (RuntimeException e) {
      request.refusal = e.toString();
      Log.once(Level.WARNING, from.getHostAddress() + " stays on UDP: " + e);
    }
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
          all = NONE;
          byDevice.clear();
          for (DatagramQueue queue : open) {
            queue.close();
          }
        });
  }
}
