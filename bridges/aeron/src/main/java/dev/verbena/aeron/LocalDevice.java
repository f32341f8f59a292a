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
import java.lang.System.Logger.Level;
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
  private final Place place;
  private final Set<DatagramQueue> queues = ConcurrentHashMap.newKeySet();
  private volatile boolean lost;

  /** Where a device has the address. */
  private record Place(int port, int gidIndex, int mtu) {}

  private LocalDevice(InetAddress ip, Context context, Place place) {
    this.ip = ip;
    this.context = context;
    this.place = place;
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
      Place place = place(context, Gid.of(ip));
      if (place != null) {
        found = new LocalDevice(ip, context, place);
      }
      return found;
    } finally {
      if (found == null) {
        context.close();
      }
    }
  }

  private static Place place(Context context, Gid gid) {
    Port unusable = null;
    for (Port port : context.ports()) {
      PortAttributes attributes = port.attributes();
      for (GidEntry entry : port.gidTable()) {
        if (entry.gid().equals(gid) && isUsable(attributes, entry)) {
          return new Place(entry.port(), entry.index(), attributes.activeMtu().bytes());
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

  private static boolean isUsable(PortAttributes port, GidEntry entry) {
    return port.linkLayer() == LinkLayer.ETHERNET
        && port.state() == PortState.ACTIVE
        && entry.type() != GidType.ROCE_V1;
  }

  /**
   * Leaves the device if its port, the address or the MTU are not what they were: not every change
   * has an event. Called by the worker.
   */
  void check() {
    try {
      if (!lost && !place.equals(place(context, Gid.of(ip)))) {
        leave();
      }
    } catch (RuntimeException e) {
      Log.LOGGER.log(Level.DEBUG, () -> this + " cannot be used any more", e);
      leave();
    }
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
  DatagramQueue createQueue(int receiveSlots, Group group) {
    DatagramQueue queue = new DatagramQueue(this, receiveSlots, group);
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
    return place.port();
  }

  int gidIndex() {
    return place.gidIndex();
  }

  int mtu() {
    return place.mtu();
  }

  @Override
  public String toString() {
    return context.device().name() + " with " + ip.getHostAddress();
  }
}
