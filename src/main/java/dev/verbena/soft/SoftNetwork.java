package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.internal.CurrentProvider;
import dev.verbena.internal.DeviceLists;
import dev.verbena.internal.Memory;
import dev.verbena.internal.NativeAccess;
import dev.verbena.internal.Platform;
import dev.verbena.internal.ProcessMemory;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.Device;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * A network of software RDMA devices in this JVM, in plain Java, without libibverbs, kernel module
 * or privilege.
 *
 * <p>Each device is an ordinary {@link Device}: contexts, queue pairs and all other objects are
 * used as with a NIC. RC, UC and UD queue pairs exchange packets with sequence numbers,
 * acknowledgements, retransmission and RNR timers; {@link #faults} loses or delays packets on
 * demand.
 *
 * {@snippet :
 * try (SoftNetwork network = SoftNetwork.create()) {
 *   Device a = network.addDevice("soft0", InetAddress.getByName("192.0.2.1"));
 *   Device b = network.addDevice("soft1", InetAddress.getByName("192.0.2.2"));
 *   try (Context left = a.open();
 *       Context right = b.open()) {
 *     // ...
 *   }
 * }
 * }
 *
 * <p>Without code, the system property {@code dev.verbena.soft} (or the environment variable {@code
 * VERBENA_SOFT}) adds devices to {@link Device#list}: {@code -Ddev.verbena.soft=2} for {@code
 * soft0} and {@code soft1}.
 *
 * <p>All methods may be called from any thread.
 */
public final class SoftNetwork implements AutoCloseable {
  private static final AtomicInteger COUNT = new AtomicInteger();
  private static final String UDP_DEVICE = "udp";
  private static final String TRACE = "dev.verbena.soft.trace";

  /** {@code IBV_SYSFS_NAME_MAX}, without the zero at the end. */
  private static final int MAX_NAME = 63;

  private static final long LOCALLY_ADMINISTERED = 0x0200_0000_0000_0000L;

  final Link link;
  final Engine engine;
  final ProcessMemory memory = new ProcessMemory();
  final SoftProvider provider;
  private final Faults faults = new Faults(this);
  private final Ethernet ethernet = new Ethernet(this);
  private final List<SoftDevice> devices = new ArrayList<>();

  /** Devices that were removed: their structs may still be referred to. */
  private final List<SoftDevice> removed = new ArrayList<>();

  private boolean closed;

  /** Receives each packet as text, or null. */
  private Consumer<String> tracer = Boolean.getBoolean(TRACE) ? System.err::println : null;

  /** Whether no more devices can be added. */
  private boolean isComplete;

  // Where packets for a GID go
  private long[] gidHighs = new long[0];
  private long[] gidLows = new long[0];
  private SoftPort[] gidPorts = new SoftPort[0];

  /** A packet that is delayed. */
  private final class Delayed extends Timer {
    private final Packet packet;

    Delayed(Packet packet) {
      super(engine.timers);
      this.packet = packet;
    }

    @Override
    void expired() {
      arrive(packet);
    }
  }

  SoftNetwork() {
    this(new NoLink());
  }

  private SoftNetwork(Link link) {
    this.link = link;
    engine = new Engine("verbena-soft-" + COUNT.getAndIncrement(), link, this::internalError);
    provider = new SoftProvider(this);
  }

  /**
   * Creates a network without devices.
   *
   * @return a network, to be closed
   * @throws UnsupportedOperationException if this is not Linux on x86-64 or aarch64
   * @throws IllegalCallerException if the JVM denies native access, which the C structs need
   */
  public static SoftNetwork create() {
    Platform.current().requireSupported();
    NativeAccess.require();
    return new SoftNetwork().started();
  }

  private SoftNetwork started() {
    engine.start();
    Providers.add(provider);
    return this;
  }

  /**
   * Creates a network with one device, {@code udp0}, that is bound to a local IP address and
   * exchanges RoCE v2 packets over UDP: with NICs, with Soft-RoCE of Linux and with other software
   * devices, on this host or on others.
   *
   * {@snippet :
   * try (SoftNetwork network = SoftNetwork.overUdp(InetAddress.getByName("192.0.2.1"));
   *     Context context = network.device().open()) {
   *   // ...
   * }
   * }
   *
   * <p>It needs no privilege: the device sends and receives through an ordinary socket of UDP port
   * 4791. The path MTU is the largest that the interface of the address permits. No further devices
   * can be added to the network.
   *
   * @param address a local IP address, whose GID the device has
   * @return a network, to be closed
   * @throws dev.verbena.VerbsException EADDRINUSE if another software device or the kernel's
   *     Soft-RoCE has the UDP port in this network namespace, EADDRNOTAVAIL if the address is not
   *     local, EMFILE if this process has no more file descriptors
   * @throws UnsupportedOperationException if this is not Linux on x86-64 or aarch64
   * @throws IllegalCallerException if the JVM denies native access
   */
  public static SoftNetwork overUdp(InetAddress address) {
    return overUdp(new InetSocketAddress(address, UdpLink.PORT));
  }

  /**
   * Creates a network with one device over UDP, as {@link #overUdp(InetAddress)} does, on another
   * port than that of RoCE v2. The peers must use the same port.
   *
   * @param address a local IP address and the UDP port
   * @return a network, to be closed
   * @throws dev.verbena.VerbsException EADDRINUSE if the port is in use, EADDRNOTAVAIL if the
   *     address is not local, EMFILE if this process has no more file descriptors
   * @throws IllegalArgumentException if the address is a wildcard or multicast address, or the port
   *     is 0
   * @throws UnsupportedOperationException if this is not Linux on x86-64 or aarch64
   * @throws IllegalCallerException if the JVM denies native access
   */
  public static SoftNetwork overUdp(InetSocketAddress address) {
    return overUdp(List.of(address));
  }

  /** Creates a network with a device over UDP for each address: udp0, udp1, ... */
  static SoftNetwork overUdp(List<InetSocketAddress> addresses) {
    addresses.forEach(SoftNetwork::requireLocal);
    Platform.current().requireSupported();
    NativeAccess.require();
    UdpLink link = UdpLink.open(addresses);
    SoftNetwork network = new SoftNetwork(link);
    link.connect(network);
    for (int i = 0; i < addresses.size(); i++) {
      SoftDevice _ = network.add(UDP_DEVICE + i, List.of(List.of(addresses.get(i).getAddress())));
    }
    network.isComplete = true;
    return network.started(); // Its thread closes the link.
  }

  private static void requireLocal(InetSocketAddress address) {
    InetAddress ip = address.getAddress();
    if (ip == null || ip.isAnyLocalAddress() || ip.isMulticastAddress() || address.getPort() == 0) {
      throw new IllegalArgumentException(
          "a device over UDP needs one local IP address and a port, not " + address);
    }
  }

  /**
   * Creates the network that a text describes: as the value of the system property {@code
   * dev.verbena.soft}, such as {@code 2} or {@code udp:192.0.2.1}.
   *
   * @param description the text
   * @return a network, to be closed
   * @throws IllegalArgumentException if the description is wrong
   * @throws dev.verbena.VerbsException if the socket of a device over UDP cannot be bound
   * @throws UnsupportedOperationException if this is not Linux on x86-64 or aarch64
   * @throws IllegalCallerException if the JVM denies native access
   */
  public static SoftNetwork of(String description) {
    return DescribedDevices.network(description.strip());
  }

  /** Whether packets from one device to another leave the network. */
  boolean isLinked() {
    return link instanceof UdpLink;
  }

  /**
   * Adds a device with one port.
   *
   * @param name its name, unlike that of any other device of this network
   * @param addresses the IP addresses of its port, each of which becomes a GID
   * @return the device
   * @throws IllegalArgumentException if the name or an address is in use or invalid
   */
  public Device addDevice(String name, InetAddress... addresses) {
    return addDevice(name, List.of(List.of(addresses)));
  }

  /**
   * Adds a device with one or several ports.
   *
   * @param name its name, unlike that of any other device of this network
   * @param ports the IP addresses of each port, in the order of the ports
   * @return the device
   * @throws IllegalArgumentException if the name or an address is in use or invalid, or there is no
   *     port
   */
  public Device addDevice(String name, List<List<InetAddress>> ports) {
    add(name, ports);
    return named(name);
  }

  private Device named(String name) {
    return DeviceLists.of(provider, Device.class).stream()
        .filter(device -> device.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /**
   * Returns the device of a network {@linkplain #overUdp(InetAddress) over UDP}, or the first
   * device of a network in this JVM.
   *
   * @return the device
   * @throws IllegalStateException if the network has no device
   */
  public Device device() {
    return DeviceLists.of(provider, Device.class).stream()
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("the network has no device"));
  }

  /** Adds a device, without creating its {@link Device}. */
  SoftDevice add(String name, List<List<InetAddress>> ports) {
    if (name.isEmpty() || name.getBytes(UTF_8).length > MAX_NAME || name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "a device name has 1 to 63 bytes in UTF-8, none of them zero: '" + name + "'");
    }
    if (ports.isEmpty() || ports.size() > 16) {
      throw new IllegalArgumentException("a device has 1 to 16 ports, not " + ports.size());
    }
    ports.forEach(port -> port.forEach(SoftNetwork::requireUnicast));
    long guid =
        LOCALLY_ADMINISTERED | (RandomGenerator.getDefault().nextLong() >>> 16 & 0xffff_ffff_ff00L);
    List<List<Gids>> gids =
        ports.stream().map(port -> port.stream().map(Gids::of).toList()).toList();
    return engine.locked(
        () -> {
          requireOpen();
          if (isComplete) {
            throw new IllegalStateException(
                "a network over UDP has one device: create another network for " + name);
          }
          if (devices.stream().anyMatch(device -> device.name.equals(name))) {
            throw new IllegalArgumentException("the network has a device " + name);
          }
          gids.forEach(port -> port.forEach(this::requireUnused));
          SoftDevice device = new SoftDevice(this, name, guid, gids);
          devices.add(device);
          updateRoutes();
          return device;
        });
  }

  private static void requireUnicast(InetAddress address) {
    if (address.isAnyLocalAddress() || address.isMulticastAddress()) {
      throw new IllegalArgumentException(
          "a port has unicast addresses, no wildcard or multicast address: " + address);
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the network is closed");
    }
  }

  private void requireUnused(Gids gid) {
    if (port(gid.high(), gid.low()) != null) {
      throw new IllegalArgumentException("the address is in use: " + gid);
    }
  }

  /**
   * Removes a device, as if its hardware were unplugged. All its contexts get {@code
   * IBV_EVENT_DEVICE_FATAL}; outstanding work requests complete with {@code IBV_WC_WR_FLUSH_ERR};
   * verbs on its objects report EIO, except those that destroy them. It is no longer in the device
   * list, and its name and addresses can be used again.
   *
   * @param name the name of the device
   * @throws IllegalArgumentException if the network has no such device
   */
  public void removeDevice(String name) {
    engine.locked(
        () -> {
          SoftDevice device = deviceNamed(name);
          devices.remove(device);
          removed.add(device);
          updateRoutes();
          device.remove();
        });
  }

  /**
   * The faults of this network.
   *
   * @return the same object each time
   */
  public Faults faults() {
    return faults;
  }

  /**
   * Passes each packet as one line of text to a consumer, which replaces an earlier consumer:
   * {@code sent} or, on a network over UDP, {@code received}, then the GIDs, the opcode with the
   * name that it has in C, and the fields of all headers.
   *
   * {@snippet :
   * network.trace(System.err::println);
   * }
   *
   * <p>The system property {@code -Ddev.verbena.soft.trace=true} does this for all networks.
   *
   * @param lines is called under the network's lock: it must return soon, and not use the objects
   *     of the network
   */
  public void trace(Consumer<String> lines) {
    Objects.requireNonNull(lines, "lines");
    engine.locked(
        () -> {
          tracer = lines;
        });
  }

  /**
   * Calls code with this network in place of the RDMA devices of the host: {@link Device#list}
   * returns the devices of this network, and RDMA CM connects their addresses. This holds for the
   * thread that calls the code and for threads which the code starts, not for those of an executor
   * that was started before.
   *
   * {@snippet :
   * Connection client = network.call(() -> Connection.connect(address));
   * }
   *
   * @param <T> the type of the result
   * @param code the code
   * @return the result of the code
   * @throws Exception if the code throws it
   */
  public <T> T call(Callable<T> code) throws Exception {
    return CurrentProvider.call(provider, Objects.requireNonNull(code, "code"));
  }

  /**
   * Returns the objects that are open on the devices of this network and the event channels of its
   * RDMA CM, by kind: contexts, queue pairs, memory regions and so on.
   *
   * @return the number of objects of each kind, such as {@code queue pair=2}; empty if none is open
   */
  public Map<String, Integer> openObjects() {
    Map<String, Integer> open = new TreeMap<>();
    for (SoftObject object : Registry.of(this)) {
      // librdmacm opens devices itself, and keeps them open.
      boolean own = object instanceof SoftContext context && !provider.manager().owns(context);
      if (own || !(object instanceof SoftContext)) {
        open.merge(object.kind(), 1, Integer::sum);
      }
    }
    int channels = provider.manager().channelCount();
    if (channels > 0) {
      open.put("event channel", channels);
    }
    return open;
  }

  List<SoftDevice> devices() {
    return devices;
  }

  SoftDevice deviceNamed(String name) {
    return devices.stream()
        .filter(device -> device.name.equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("the network has no device named " + name));
  }

  /** An internal error concerns all devices unless it is that of a queue pair. */
  private void internalError() {
    devices.forEach(SoftDevice::fail);
  }

  void portState(String name, int number, boolean up) {
    engine.locked(
        () -> {
          SoftDevice device = deviceNamed(name);
          if (number < 1 || number > device.ports.size()) {
            throw new IllegalArgumentException(
                name + " has ports 1 to " + device.ports.size() + ", not " + number);
          }
          SoftPort port = device.ports.get(number - 1);
          if (port.isActive() != up) {
            port.state = up ? rdma_h.IBV_PORT_ACTIVE() : rdma_h.IBV_PORT_DOWN();
            device.portEvent(
                up ? rdma_h.IBV_EVENT_PORT_ACTIVE() : rdma_h.IBV_EVENT_PORT_ERR(), port);
          }
        });
  }

  private void updateRoutes() {
    List<SoftPort> ports = new ArrayList<>();
    List<Gids> gids = new ArrayList<>();
    for (SoftDevice device : devices) {
      for (SoftPort port : device.ports) {
        for (Gids gid : port.gids) {
          ports.add(port);
          gids.add(gid);
        }
      }
    }
    gidHighs = gids.stream().mapToLong(Gids::high).toArray();
    gidLows = gids.stream().mapToLong(Gids::low).toArray();
    gidPorts = ports.toArray(SoftPort[]::new);
  }

  /** The port with a GID, or null. */
  SoftPort port(long gidHigh, long gidLow) {
    for (int i = 0; i < gidLows.length; i++) {
      if (gidLows[i] == gidLow && gidHighs[i] == gidHigh) {
        return gidPorts[i];
      }
    }
    return null;
  }

  // Packets. Called under the engine's lock.

  /** Sends a packet, which belongs to the network from now on. */
  void send(Packet packet) {
    packet.source.device.counters.sentPackets++;
    if (!packet.source.isActive() || faults.loses()) {
      engine.packets.release(packet);
      return;
    }
    if (faults.corrupts()) {
      packet.corrupt = true;
    }
    trace("sent ", packet);
    if (faults.duplicates()) {
      launch(engine.packets.take().copyOf(packet));
    }
    launch(packet);
  }

  /**
   * Whether packets along a path are handed to a queue pair of this network at once: neither held
   * by a fault nor sent over the link.
   */
  boolean deliversAtOnce(AddressVector path) {
    SoftPort port = port(path.destination().high(), path.destination().low());
    return !faults.holdPackets() && port != null && !leaves(path.port(), port);
  }

  private void launch(Packet packet) {
    long delay = faults.delay();
    if (delay == 0) {
      arrive(packet);
    } else {
      new Delayed(packet).start(engine.now() + delay);
    }
  }

  private void arrive(Packet packet) {
    if (packet.opcode == Opcode.RAW) {
      ethernet.forward(packet);
      engine.packets.release(packet);
      return;
    }
    if (packet.destination == Psn.MASK) {
      multicast(packet);
      return;
    }
    SoftPort port = port(packet.destinationGidHigh, packet.destinationGidLow);
    if (port != null && !reaches(packet, port)) {
      engine.packets.release(packet);
    } else if (port == null || leaves(packet.source, port)) {
      link.send(packet);
      engine.packets.release(packet);
    } else {
      deliver(packet, port);
    }
  }

  /** Whether packets from one port to another are sent over the link. */
  private boolean leaves(SoftPort from, SoftPort to) {
    return isLinked() && from.device != to.device;
  }

  private void trace(String what, Packet packet) {
    if (tracer != null) {
      tracer.accept(what + PacketText.of(packet));
    }
  }

  /** Takes a packet that came over the link to a device, which has a GID. */
  void arrived(Packet packet, Gids at) {
    trace("received ", packet);
    SoftPort port = port(at.high(), at.low());
    if (port == null || !port.isActive()) {
      engine.packets.release(packet);
    } else if (packet.destination == Psn.MASK) {
      deliverToMembers(packet, port.device);
      engine.packets.release(packet);
    } else {
      deliver(packet, port);
    }
  }

  boolean reaches(Packet packet, SoftPort port) {
    return port.isActive()
        && (packet.source == null || !faults.separates(packet.source.device, port.device));
  }

  private void deliver(Packet packet, SoftPort port) {
    DeviceCounters counters = port.device.counters;
    counters.receivedPackets++;
    if (packet.corrupt) {
      counters.corruptPackets++;
      engine.packets.release(packet);
      return;
    }
    if (packet.destination == 1) {
      manage(packet, port);
      engine.packets.release(packet);
      return;
    }
    SoftQueuePair queuePair = port.device.queuePair(packet.destination);
    if (queuePair == null || !queuePair.accepts(packet)) {
      counters.droppedPackets++;
      engine.packets.release(packet);
    } else {
      queuePair.deliver(packet);
    }
  }

  private static void manage(Packet packet, SoftPort port) {
    ManagementHandler handler = port.device.management();
    if (handler != null
        && packet.queueKey == ManagementHandler.QUEUE_KEY
        && packet.length == ManagementHandler.LENGTH) {
      handler.received(
          port,
          new Gids(packet.destinationGidHigh, packet.destinationGidLow),
          new Gids(packet.sourceGidHigh, packet.sourceGidLow),
          packet.payload);
    }
  }

  /**
   * Sends a management datagram (MAD) from queue pair 1 of a port. Called under the engine's lock.
   *
   * @param from the GID of the port to send from
   * @param datagram the address of {@link ManagementHandler#LENGTH} bytes
   */
  void sendManagement(SoftPort port, Gids from, Gids to, long datagram) {
    Packet packet = engine.packets.take().reset(Opcode.UD | Opcode.SEND_ONLY, 1, 0);
    new AddressVector(port, from, to, 0, 64, 0, 0).address(packet);
    packet.queueKey = ManagementHandler.QUEUE_KEY;
    packet.sourceNumber = 1;
    packet.length = ManagementHandler.LENGTH;
    Memory.at(packet.payload, ManagementHandler.LENGTH)
        .copyFrom(Memory.at(datagram, ManagementHandler.LENGTH));
    send(packet);
  }

  private void multicast(Packet packet) {
    link.send(packet);
    if (isLinked()) {
      deliverToMembers(packet, packet.source.device);
    } else {
      devices.forEach(device -> deliverToMembers(packet, device));
    }
    engine.packets.release(packet);
  }

  private void deliverToMembers(Packet packet, SoftDevice device) {
    List<SoftQueuePair> members =
        device.members(new Gids(packet.destinationGidHigh, packet.destinationGidLow));
    if (members.isEmpty() || device.ports.stream().noneMatch(port -> reaches(packet, port))) {
      return;
    }
    device.counters.receivedPackets++;
    if (packet.corrupt) {
      device.counters.corruptPackets++;
      return;
    }
    for (SoftQueuePair member : members) {
      boolean sender =
          packet.source != null
              && member.device == packet.source.device
              && member.number == packet.sourceNumber;
      if (!sender && member.accepts(packet)) {
        member.deliver(engine.packets.take().copyOf(packet));
      }
    }
  }

  /**
   * Stops the network. Contexts that are still open must not be used afterwards: close them first.
   */
  @Override
  public void close() {
    boolean first =
        engine.locked(
            () -> {
              boolean open = !closed;
              closed = true;
              return open;
            });
    if (first) {
      try {
        Providers.remove(provider);
      } finally {
        engine.close();
        provider.manager().close();
      }
    }
  }

  @Override
  public String toString() {
    return "software network of "
        + Arrays.toString(engine.locked(() -> devices.stream().map(d -> d.name).toArray()));
  }

  /** The provider of the devices. */
  Provider provider() {
    return provider;
  }
}
