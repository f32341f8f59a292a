package dev.verbena.aeron;

import dev.verbena.attributes.PortAttributes;
import dev.verbena.attributes.PortState;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Port;
import java.lang.System.Logger.Level;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
    List<Device> _ = list();
  }

  private static List<Device> list() {
    try {
      return source.get();
    } catch (RuntimeException | LinkageError e) { // Without libibverbs, for example.
      Log.once(Level.INFO, "all channels stay on UDP: " + e.getMessage());
      return List.of();
    }
  }

  /**
   * Returns the device of a local address.
   *
   * @throws NoDeviceException if no device can be used
   */
  static LocalDevice of(InetAddress ip) {
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

  /** Returns why no device can be used for an address; empty if one can. Waits for the worker. */
  static Optional<String> obstacle(InetAddress ip) {
    return Worker.call(
        () -> {
          try {
            LocalDevice _ = of(ip);
            return Optional.empty();
          } catch (NoDeviceException e) {
            return Optional.of(ip.getHostAddress() + ": " + e.getMessage());
          }
        });
  }

  /** Returns the smallest MTU of the active ports of this host; empty without such ports. */
  static OptionalInt smallestMtu() {
    return Worker.call(Devices::findSmallestMtu);
  }

  private static OptionalInt findSmallestMtu() {
    int smallest = Integer.MAX_VALUE;
    for (Device device : list()) {
      try (Context context = device.open()) {
        for (Port port : context.ports()) {
          PortAttributes attributes = port.attributes();
          if (attributes.state() == PortState.ACTIVE) {
            smallest = Math.min(smallest, attributes.activeMtu().bytes());
          }
        }
      } catch (RuntimeException e) {
        Log.once(Level.INFO, "the MTU of " + device.name() + " is not known: " + e.getMessage());
      }
    }
    return smallest == Integer.MAX_VALUE ? OptionalInt.empty() : OptionalInt.of(smallest);
  }

  private static LocalDevice find(InetAddress ip) {
    String obstacle = "no RDMA device has this address";
    for (Device device : list()) {
      try {
        LocalDevice found = LocalDevice.open(device, ip);
        if (found != null) {
          return found;
        }
      } catch (RuntimeException e) { // Another one may have the address.
        obstacle = device.name() + ": " + e.getMessage();
      }
    }
    throw new NoDeviceException(obstacle);
  }

  /**
   * Returns the address of this host from which the kernel sends to a peer.
   *
   * @throws NoDeviceException if it has no route
   */
  static InetAddress localToward(InetSocketAddress peer) {
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.connect(peer);
      return socket.getLocalAddress();
    } catch (SocketException e) {
      throw new NoDeviceException("no route to " + peer, e);
    }
  }
}
