package dev.verbena.aeron;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.Device;
import io.aeron.driver.NameResolverAgent;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * Two software devices, with the addresses 127.0.0.1 and 127.0.0.2, and drivers that exchange
 * frames by real sockets and by these devices. Everything runs on the thread of the test, but for
 * the {@link Worker}.
 */
final class Hosts implements AutoCloseable {
  static final String A = "127.0.0.1";
  static final String B = "127.0.0.2";

  /** An address of IPv6, whose device tests add. */
  static final String SIX = "::1";

  final SoftNetwork network = SoftNetwork.create();
  private final List<Node> nodes = new ArrayList<>();

  Hosts() {
    addDevice("a", A);
    addDevice("b", B);
    look();
  }

  /** Forgets which addresses have a device, and which do not. */
  void look() {
    Devices.use(this::devices);
  }

  void addDevice(String name, String address) {
    Device _ = network.addDevice(name, address(address));
  }

  /** Adds a device with the address {@link #SIX}; skips the test on a machine without IPv6. */
  void addIpv6Device() {
    try (DatagramSocket _ = new DatagramSocket(0, address(SIX))) {
      addDevice("c", SIX);
    } catch (SocketException e) {
      Assumptions.abort("this machine has no address " + SIX);
    }
  }

  /** Returns an endpoint or control address with a port that no socket of this machine has. */
  static String endpoint(String address) {
    try (DatagramSocket free = new DatagramSocket()) {
      return address + ":" + free.getLocalPort();
    } catch (SocketException e) {
      throw new AssertionError(e);
    }
  }

  /** Returns a unicast channel to a free port. */
  static String channel(String address) {
    return "aeron:udp?endpoint=" + endpoint(address);
  }

  private List<Device> devices() {
    try {
      return network.call(Device::list);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static InetAddress address(String text) {
    try {
      return InetAddress.getByName(text);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  /** Starts a driver with the bridge, and a client of it. */
  Node start() {
    return start(Node.MTU);
  }

  /** Starts a driver without the bridge, and a client of it. */
  Node startStock() {
    return add(new Node(false, Node.MTU, null));
  }

  Node start(int mtu) {
    return add(new Node(true, mtu, null));
  }

  /** Starts a driver that asks a resolver for the addresses of names. */
  Node start(NameResolverAgent names) {
    return add(new Node(true, Node.MTU, names));
  }

  private Node add(Node node) {
    nodes.add(node);
    return node;
  }

  void stop(Node node) {
    nodes.remove(node);
    node.close();
  }

  /** Lets every driver and client do what it has to do. */
  void run() {
    for (int i = 0; i < nodes.size(); i++) { // Without an iterator, for tests of allocation.
      nodes.get(i).run();
    }
  }

  /** Lets all run until something is true. */
  void until(Condition condition) {
    while (!condition.isTrue()) {
      run();
      Thread.yield();
    }
  }

  /** Lets all run for a while. */
  void runFor(long milliseconds) {
    long start = System.nanoTime();
    until(() -> System.nanoTime() - start > milliseconds * 1_000_000);
  }

  /** What is waited for. */
  @FunctionalInterface
  interface Condition {
    boolean isTrue();
  }

  @Override
  public void close() {
    for (Node node : List.copyOf(nodes)) {
      node.errors.forEach(Throwable::printStackTrace);
      stop(node);
    }
    Devices.use(Device::list);
    network.close();
  }
}
