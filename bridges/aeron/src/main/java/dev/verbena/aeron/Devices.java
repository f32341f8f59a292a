package dev.verbena.aeron;

import dev.verbena.attributes.PortAttributes;
import dev.verbena.attributes.PortState;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Port;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Supplier;

/** The RDMA devices of this host by their IP addresses. Used by the {@link Worker} only. */
final class Devices {
  /** How long an address without a device is remembered. */
  private static final long FORGET_NS = 5_000_000_000L;

  /** The devices to look at; tests have others than those of the host. */
  private static Supplier<List<Device>> source = Device::list;

  private static final Map<InetAddress, LocalDevice> OPEN = new HashMap<>();
  private static final Map<InetAddress, Refusal> REFUSED = new HashMap<>();

  private record Refusal(NoDeviceException reason, long time) {}

  private Devices() {}

  /** Looks at devices other than those of the host. Sockets that are open leave theirs. */
  static void use(Supplier<List<Device>> devices) {
    Worker.call(
        () -> {
          source = devices;
          OPEN.values().forEach(LocalDevice::leave);
          OPEN.clear();
          REFUSED.clear();
          return null;
        });
  }

  /** Lists the devices, which takes a second the first time, so that no socket waits for it. */
  static void prepare() {
    try {
      List<Device> _ = source.get();
    } catch (RuntimeException | LinkageError e) {
      Log.once(System.Logger.Level.INFO, "all channels stay on UDP: " + e.getMessage());
    }
  }

  /**
   * Returns the device of a local address.
   *
   * @throws NoDeviceException if no device can be used
   */
  static LocalDevice of(InetAddress ip) throws NoDeviceException {
    OPEN.values().removeIf(LocalDevice::isLost);
    LocalDevice open = OPEN.get(ip);
    if (open != null) {
      return open;
    }
    Refusal refusal = REFUSED.get(ip);
    if (refusal != null && System.nanoTime() - refusal.time() < FORGET_NS) {
      throw refusal.reason();
    }
    try {
      LocalDevice device = find(ip);
      REFUSED.remove(ip);
      OPEN.put(ip, device);
      return device;
    } catch (NoDeviceException e) {
      REFUSED.put(ip, new Refusal(e, System.nanoTime()));
      throw e;
    }
  }

  /**
   * Throws an exception if no device has an address. Waits for the worker.
   *
   * @throws NoDeviceException if no device can be used
   */
  static void require(InetAddress ip) throws NoDeviceException {
    NoDeviceException failure =
        Worker.call(
            () -> {
              try {
                LocalDevice _ = of(ip);
                return null;
              } catch (NoDeviceException e) {
                return e;
              }
            });
    if (failure != null) {
      throw new NoDeviceException(ip.getHostAddress() + ": " + failure.getMessage(), failure);
    }
  }

  /** Returns the smallest MTU of the active ports of this host; empty without such ports. */
  static OptionalInt smallestMtu() {
    return Worker.call(Devices::findSmallestMtu);
  }

  private static OptionalInt findSmallestMtu() {
    try {
      int smallest = Integer.MAX_VALUE;
      for (Device device : source.get()) {
        try (Context context = device.open()) {
          for (Port port : context.ports()) {
            PortAttributes attributes = port.attributes();
            if (attributes.state() == PortState.ACTIVE) {
              smallest = Math.min(smallest, attributes.activeMtu().bytes());
            }
          }
        }
      }
      return smallest == Integer.MAX_VALUE ? OptionalInt.empty() : OptionalInt.of(smallest);
    } catch (RuntimeException | LinkageError e) {
      Log.once(System.Logger.Level.INFO, "all channels stay on UDP: " + e.getMessage());
      return OptionalInt.empty();
    }
  }

  private static LocalDevice find(InetAddress ip) throws NoDeviceException {
    String obstacle = "no RDMA device has this address";
    try {
      for (Device device : source.get()) {
        try {
          LocalDevice found = LocalDevice.open(device, ip);
          if (found != null) {
            return found;
          }
        } catch (NoDeviceException | RuntimeException e) { // Another one may have the address.
          obstacle = device.name() + ": " + e.getMessage();
        }
      }
    } catch (RuntimeException | LinkageError e) { // Without libibverbs, for example.
      throw new NoDeviceException(e.getMessage(), e);
    }
    throw new NoDeviceException(obstacle, null);
  }

  /**
   * Returns the address of this host from which the kernel sends to a peer.
   *
   * @throws NoDeviceException if it has no route
   */
  static InetAddress localToward(InetSocketAddress peer) throws NoDeviceException {
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.connect(peer);
      return socket.getLocalAddress();
    } catch (SocketException e) {
      throw new NoDeviceException("no route to " + peer, e);
    }
  }
}
