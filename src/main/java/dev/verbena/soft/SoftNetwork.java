package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.internal.CurrentProvider;
import dev.verbena.internal.Departures;
import dev.verbena.internal.DeviceLists;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.NativeAccess;
import dev.verbena.internal.foreign.Platform;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.Profile;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.functions.SoftProvider;
import dev.verbena.soft.wire.CaptureWriter;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.NetworkLink;
import dev.verbena.soft.wire.NoLink;
import dev.verbena.soft.wire.PacketPool;
import dev.verbena.soft.wire.UdpLink;
import dev.verbena.verbs.Device;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

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
  private static final System.Logger LOGGER = System.getLogger(SoftNetwork.class.getName());
  private static final AtomicInteger COUNT = new AtomicInteger();
  private static final String UDP_DEVICE = "udp";
  private static final String TRACE = "dev.verbena.soft.trace";
  private static final String CAPTURE = "dev.verbena.soft.capture";

  /** {@code IBV_SYSFS_NAME_MAX}, without the zero at the end. */
  private static final int MAX_NAME = 63;

  private static final long LOCALLY_ADMINISTERED = 0x0200_0000_0000_0000L;

  final Engine engine;
  final SoftFabric fabric;
  final SoftProvider provider;
  private final PacketPool packets = new PacketPool();
  private final Faults faults = new Faults(this);
  private @Nullable OutputStream ownFile;

  /** Of devices that were removed: whoever has listed them may still refer to them. */
  private final List<CStruct> removed = new ArrayList<>();

  /** Ends the connections when the JVM ends. */
  private final Runnable ending = this::endConnections;

  private volatile boolean closed;

  /** Of the devices that are added from now on. */
  private Profile profile = Profile.NONE;

  /** Whether no more devices can be added. */
  private boolean isComplete;

  SoftNetwork() {
    this(new NoLink());
  }

  private SoftNetwork(NetworkLink link) {
    String name = "verbena-soft-" + COUNT.getAndIncrement();
    String thread = Time.simulation() == null ? name : "verbena-soft"; // The same in each run.
    engine = new Engine(thread, link, this::internalError);
    fabric = new SoftFabric(link, engine, packets, faults);
    if (Boolean.getBoolean(TRACE)) {
      fabric.trace(System.err::println);
    }
    String folder = System.getProperty(CAPTURE);
    if (folder != null) {
      capture(Path.of(folder, name + ".pcap"));
    }
    provider = new SoftProvider(fabric, engine, faults.failingCalls());
  }

  /**
   * Creates a network without devices.
   *
   * @return a network, to be closed
   * @throws UnsupportedOperationException if the platform is not 64-bit and little-endian
   * @throws IllegalCallerException if the JVM denies native access, which the C structs need
   */
  public static SoftNetwork create() {
    Platform.current().requireLayouts();
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
   * exchanges RoCE v2 packets over UDP: with Soft-RoCE of Linux and with other software devices, on
   * this host or on others; with NICs it was not tested.
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
    return overUdp(List.of(address), Profile.NONE);
  }

  /** Creates a network with a device over UDP for each address: udp0, udp1, ... */
  static SoftNetwork overUdp(List<InetSocketAddress> addresses, Profile profile) {
    addresses.forEach(SoftNetwork::requireLocal);
    Platform.current().requireSupported();
    NativeAccess.require();
    UdpLink link = UdpLink.open(addresses);
    SoftNetwork network = new SoftNetwork(link).with(profile);
    link.connect(network.fabric, network.packets);
    for (int i = 0; i < addresses.size(); i++) {
      SoftDevice _ = network.add(UDP_DEVICE + i, List.of(List.of(addresses.get(i).getAddress())));
    }
    network.isComplete = true;
    Departures.add(network.ending);
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
   * @throws UnsupportedOperationException if this is not Linux on x86-64 or aarch64, for a device
   *     over UDP; if the platform is not 64-bit and little-endian, for others
   * @throws IllegalCallerException if the JVM denies native access
   */
  public static SoftNetwork of(String description) {
    return DescribedDevices.network(description.strip());
  }

  /**
   * Gives the devices that are added from now on the limits and refusals of a named device: {@code
   * connectx5}, {@code connectx7}, {@code efa}, {@code irdma}, {@code erdma}, {@code siw} or {@code
   * rxe}. What exceeds them fails with the errno of that device's provider.
   *
   * @param name the name of the profile
   * @return this
   * @throws IllegalArgumentException if there is no such profile
   */
  public SoftNetwork profile(String name) {
    return with(Profile.named(name));
  }

  SoftNetwork with(Profile given) {
    engine.locked(
        () -> {
          profile = given;
        });
    return this;
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
    return DeviceLists.of(provider, Device.class).stream()
        .filter(device -> device.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /**
   * {@return the device of a network {@linkplain #overUdp(InetAddress) over UDP}, or the first
   * device of a network in this JVM}
   *
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
        LOCALLY_ADMINISTERED
            | (Time.random(RandomGenerator.getDefault()).nextLong() >>> 16 & 0xffff_ffff_ff00L);
    List<List<Gids>> gids =
        ports.stream().map(port -> port.stream().map(Gids::of).toList()).toList();
    return engine.locked(
        () -> {
          requireOpen();
          if (isComplete) {
            throw new IllegalStateException(
                "a network over UDP has one device: create another network for " + name);
          }
          if (fabric.devices().stream().anyMatch(device -> device.name.equals(name))) {
            throw new IllegalArgumentException("the network has a device " + name);
          }
          gids.forEach(port -> port.forEach(this::requireUnused));
          SoftDevice device =
              new SoftDevice(
                  fabric,
                  engine,
                  packets,
                  faults.failingCalls(),
                  faults.delays(),
                  name,
                  profile,
                  guid,
                  gids);
          fabric.add(device);
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
    SoftPort owner = fabric.port(gid.high(), gid.low());
    if (owner != null && !owner.device.isRemoved()) {
      throw new IllegalArgumentException(
          "the device %s of this network has the address %s"
              .formatted(owner.device.name, gid.address().getHostAddress()));
    }
  }

  /**
   * Removes a device, as if its hardware were unplugged. All its contexts get {@code
   * IBV_EVENT_DEVICE_FATAL}, and its identifiers of RDMA CM {@code RDMA_CM_EVENT_DEVICE_REMOVAL};
   * outstanding work requests complete with {@code IBV_WC_WR_FLUSH_ERR}; verbs on its objects
   * report EIO, except those that destroy them: see {@link Faults#loseDevice}. It is no longer in
   * the device list, and its name and addresses can be used again.
   *
   * @param name the name of the device
   * @throws IllegalArgumentException if the network has no such device
   */
  public void removeDevice(String name) {
    remove(name, SoftDevice::remove);
  }

  void remove(String name, Consumer<SoftDevice> removal) {
    engine.locked(
        () -> {
          SoftDevice device = deviceNamed(name);
          fabric.remove(device);
          end(device, removal);
        });
  }

  /** Removes a device whose addresses remain known, without a message to its peers. */
  void kill(String name) {
    engine.locked(
        () -> {
          SoftDevice device = deviceNamed(name);
          device.stop();
          fabric.kill(device);
          end(device, SoftDevice::remove);
        });
  }

  private void end(SoftDevice device, Consumer<SoftDevice> removal) {
    removed.add(device.struct);
    removal.accept(device);
    provider.manager().removed(device);
    Registry.of(device).forEach(SoftObject::fail);
  }

  /**
   * Sets the clock of a device, from which completion timestamps are taken. The default has 1 GHz
   * and 64 bits.
   *
   * @param device the name of the device
   * @param kilohertz the frequency in kHz, from 1 to 10,000,000
   * @param bits the number of bits of the ticks, from 1 to 64, after which they start again at 0
   * @throws IllegalArgumentException if the network has no such device, or a number is out of range
   */
  public void clock(String device, long kilohertz, int bits) {
    if (kilohertz < 1 || kilohertz > 10_000_000 || bits < 1 || bits > Long.SIZE) {
      throw new IllegalArgumentException(
          "a clock has 1 to 10,000,000 kHz and 1 to 64 bits: " + kilohertz + " kHz, " + bits);
    }
    engine.locked(() -> deviceNamed(device).clock(kilohertz, bits));
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
    engine.locked(() -> fabric.trace(lines));
  }

  /**
   * Writes each packet that a device of this network sends to a capture file in the format of
   * libpcap, from now on, as a datagram of RoCE v2: Wireshark, {@code verbena sniff} and {@link
   * CaptureFile} read it. Raw packets are left out.
   *
   * <p>In a {@link Simulation} the file also has, until the network is closed, a message of syslog
   * from and to 0.0.0.0 for each change of the running thread and for each {@linkplain
   * Simulation#note remark} of the program. The same seed gives the same file.
   *
   * <p>The system property {@code -Ddev.verbena.soft.capture=FOLDER} does this for all networks:
   * each has a file {@code verbena-soft-N.pcap}, with a number.
   *
   * @param file the file. It is written under the network's lock, in a simulation also between the
   *     steps of threads: writing must not wait for another thread. An error is logged, and ends
   *     the capture
   * @throws IOException if the header of the file cannot be written
   */
  public void capture(OutputStream file) throws IOException {
    CaptureWriter writer = new CaptureWriter(file);
    engine.locked(() -> fabric.capture(writer));
    if (Time.simulation() instanceof SimulatedClock simulation) {
      simulation.log().add(fabric.remarks);
    }
  }

  private void closeOwnFile() {
    if (ownFile != null) {
      engine.locked(fabric::endCapture);
      try {
        ownFile.close();
      } catch (IOException e) {
        LOGGER.log(System.Logger.Level.WARNING, "the capture file is not complete", e);
      }
    }
  }

  /** Writes to a file of its own, which is closed with this network. */
  private void capture(Path file) {
    try {
      ownFile = new FileOutputStream(file.toFile());
      capture(ownFile);
    } catch (IOException e) {
      LOGGER.log(System.Logger.Level.WARNING, "no packets are written", e);
    }
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
    for (SoftObject object : Registry.of(fabric)) {
      if (object.device.isLost()) {
        continue; // The kernel has destroyed it.
      }
      // librdmacm opens devices itself, and keeps them open.
      if (!(object instanceof SoftContext) || !provider.manager().opened(object.address())) {
        open.merge(object.kind(), 1, Integer::sum);
      }
    }
    int channels = provider.manager().channelCount();
    if (channels > 0) {
      open.put("event channel", channels);
    }
    return open;
  }

  SoftDevice deviceNamed(String name) {
    return fabric.devices().stream()
        .filter(device -> device.name.equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("the network has no device named " + name));
  }

  boolean hasDevice(String name) {
    return engine.locked(
        () -> fabric.devices().stream().anyMatch(device -> device.name.equals(name)));
  }

  /** An internal error concerns all devices unless it is that of a queue pair. */
  private void internalError() {
    fabric.devices().forEach(SoftDevice::internalError);
  }

  void portState(String name, int number, boolean up) {
    engine.locked(
        () -> {
          SoftDevice device = deviceNamed(name);
          if (number < 1 || number > device.ports.size()) {
            throw new IllegalArgumentException(
                name + " has ports 1 to " + device.ports.size() + ", not " + number);
          }
          boolean _ = device.ports.get(number - 1).change(up);
        });
  }

  /**
   * Stops the network, and ends its connections of RDMA CM, whose identifiers then get {@code
   * RDMA_CM_EVENT_DEVICE_REMOVAL} with the status {@code -ENODEV}. Contexts that are still open
   * must not be used afterwards: close them first.
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
      Departures.remove(ending);
      endConnections();
      try {
        Providers.remove(provider);
      } finally {
        engine.close();
        if (Time.simulation() instanceof SimulatedClock simulation) {
          simulation.log().remove(fabric.remarks);
        }
        provider.manager().close();
        engine.locked(provider.manager()::reportEnd); // When no context of it is held any more.
        closeOwnFile();
      }
    }
  }

  /** Sends what ends the connections of RDMA CM. */
  private void endConnections() {
    engine.locked(provider.manager()::destroyAll);
  }

  @Override
  public String toString() {
    List<String> names = fabric.devices().stream().map(device -> device.name).toList();
    return "software network of " + names + (closed ? " (closed)" : "");
  }

  /** The provider of the devices. */
  Provider provider() {
    return provider;
  }
}
