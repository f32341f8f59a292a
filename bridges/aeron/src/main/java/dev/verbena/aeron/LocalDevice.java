package dev.verbena.aeron;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.address.GidType;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.PortAttributes;
import dev.verbena.attributes.PortState;
import dev.verbena.values.AsyncEventType;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Port;
import java.net.InetAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An IP address of an open RDMA device. All sockets of the JVM with this address share it. It is
 * closed when the device is lost and its last queue is closed.
 */
final class LocalDevice {
  private final InetAddress ip;
  private final Context context;
  private final AsyncEvents.Listening listening;
  private final int port;
  private final int gidIndex;
  private final int mtu;
  private final Set<DatagramQueue> queues = ConcurrentHashMap.newKeySet();
  private volatile boolean lost;

  private LocalDevice(InetAddress ip, Context context, GidEntry entry) {
    this.ip = ip;
    this.context = context;
    this.port = entry.port();
    this.gidIndex = entry.index();
    this.mtu = context.port(port).attributes().activeMtu().bytes();
    this.listening = AsyncEvents.of(context).listen(this::onEvent);
  }

  /**
   * Opens a device, if it has an address.
   *
   * @return null if it does not
   * @throws NoDeviceException if it has the address, and cannot be used
   */
  static LocalDevice open(Device device, InetAddress ip) {
    assert Worker.isCurrent();
    LocalDevice found = null;
    Context context = device.open();
    try {
      GidEntry entry = entry(context, Gid.of(ip));
      if (entry != null) {
        found = new LocalDevice(ip, context, entry);
      }
      return found;
    } finally {
      if (found == null) {
        context.close();
      }
    }
  }

  private static GidEntry entry(Context context, Gid gid) {
    Port unusable = null;
    for (Port port : context.ports()) {
      for (GidEntry entry : port.gidTable()) {
        if (entry.gid().equals(gid) && isUsable(port, entry)) {
          return entry;
        } else if (entry.gid().equals(gid)) {
          unusable = port;
        }
      }
    }
    if (unusable != null) {
      throw new NoDeviceException(unusable + " is not active, not on Ethernet, or has RoCE v1");
    }
    return null;
  }

  private static boolean isUsable(Port port, GidEntry entry) {
    PortAttributes attributes = port.attributes();
    return attributes.linkLayer() == LinkLayer.ETHERNET
        && attributes.state() == PortState.ACTIVE
        && entry.type() != GidType.ROCE_V1;
  }

  private void onEvent(AsyncEvent event) {
    if (event.type() == AsyncEventType.DEVICE_FATAL) {
      fail();
      Worker.run(this::closeIfUnused);
    }
  }

  private void fail() {
    lost = true;
    for (DatagramQueue queue : queues) {
      queue.fail("the device was lost");
    }
  }

  /** Makes all sockets leave the device, which the last one closes. Called by the worker. */
  void leave() {
    fail();
    closeIfUnused();
  }

  boolean isLost() {
    return lost;
  }

  /** Creates a queue. Called by the {@link Worker}. */
  DatagramQueue createQueue(int receiveSlots) {
    DatagramQueue queue = new DatagramQueue(this, receiveSlots);
    queues.add(queue);
    if (lost) {
      queue.fail("the device was lost");
    }
    return queue;
  }

  /** Called when a queue was closed, by the {@link Worker}. */
  void release(DatagramQueue queue) {
    queues.remove(queue);
    closeIfUnused();
  }

  private void closeIfUnused() {
    if (lost && queues.isEmpty() && context.isOpen()) {
      listening.close();
      context.close();
    }
  }

  Context context() {
    return context;
  }

  int port() {
    return port;
  }

  int gidIndex() {
    return gidIndex;
  }

  int mtu() {
    return mtu;
  }

  @Override
  public String toString() {
    return context.device().name() + " with " + ip.getHostAddress();
  }
}
