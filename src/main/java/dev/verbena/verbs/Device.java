package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.DeviceLists;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_device;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * An RDMA device that the system has: what can be known of it without opening it.
 *
 * <p>A device is a description, copied from the list that C hands out, so there is nothing to close
 * and it may be kept for ever. {@link #open} finds the device again by its name.
 */
public final class Device {
  static {
    DeviceLists.set(Device::list);
  }

  private final Provider provider;
  private final String name;
  private final String deviceName;
  private final String sysfsPath;
  private final long guid;
  private final int index;
  private final NodeType nodeType;
  private final TransportType transportType;

  private Device(Provider provider, long address) {
    Verbs verbs = provider.verbs();
    MemorySegment device = Memory.at(address, ibv_device.sizeof());
    this.provider = provider;
    this.name = Memory.string(verbs.ibv_get_device_name(address));
    this.deviceName = ibv_device.dev_name(device).getString(0);
    this.sysfsPath = ibv_device.ibdev_path(device).getString(0);
    this.guid = Long.reverseBytes(verbs.ibv_get_device_guid(address));
    this.index = index(verbs, address);
    this.nodeType = Codes.of(NodeType.class, ibv_device.node_type(device), NodeType.UNKNOWN);
    this.transportType =
        Codes.of(TransportType.class, ibv_device.transport_type(device), TransportType.UNKNOWN);
  }

  private static int index(Verbs verbs, long address) {
    try {
      return verbs.ibv_get_device_index(address);
    } catch (VerbsException e) {
      if (e.isUnsupported()) {
        return -1;
      }
      throw e;
    }
  }

  /**
   * All RDMA devices of this machine: {@code ibv_get_device_list}, given back at once with {@code
   * ibv_free_device_list}.
   *
   * @return the devices in C's order; empty where there are none
   * @throws VerbsException ENOSYS if the kernel has no RDMA support
   */
  public static List<Device> list() {
    List<Device> all = new ArrayList<>();
    VerbsException missing = null;
    for (Provider provider : Provider.all()) {
      try {
        all.addAll(list(provider));
      } catch (VerbsException e) {
        missing = e;
      }
    }
    if (all.isEmpty() && missing != null) {
      throw missing;
    }
    return List.copyOf(all);
  }

  static List<Device> list(Provider provider) {
    Verbs verbs = provider.verbs();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
      long list = list(verbs, count.address());
      try {
        int devices = count.get(ValueLayout.JAVA_INT, 0);
        List<Device> result = new ArrayList<>(devices);
        for (int i = 0; i < devices; i++) {
          result.add(new Device(provider, Memory.getLong(list + (long) i * Long.BYTES)));
        }
        return List.copyOf(result);
      } finally {
        verbs.ibv_free_device_list(list);
      }
    }
  }

  private static long list(Verbs verbs, long count) {
    try {
      return verbs.ibv_get_device_list(count);
    } catch (VerbsException e) {
      throw e.errno() == Errno.ENOSYS
          ? e.explained(
              "the kernel has no RDMA loaded: modprobe ib_uverbs and the device's driver, such as"
                  + " rdma_rxe")
          : e;
    }
  }

  /**
   * The device with a name.
   *
   * @param name such as {@code rxe0} or {@code mlx5_0}
   * @return the device
   * @throws VerbsException ENODEV, naming the devices there are
   */
  public static Device named(String name) {
    return find(list(), "named " + name, device -> device.name.equals(name));
  }

  /**
   * The device with a node GUID.
   *
   * @param guid as {@link #guid} shows it
   * @return the device
   * @throws VerbsException ENODEV, naming the devices there are
   */
  public static Device withGuid(long guid) {
    String text = "with GUID 0x" + Long.toHexString(guid);
    return find(list(), text, device -> device.guid == guid);
  }

  /**
   * The device with a kernel index.
   *
   * @param index as {@link #index} shows it
   * @return the device
   * @throws VerbsException ENODEV, naming the devices there are
   */
  public static Device withIndex(int index) {
    return find(list(), "with index " + index, device -> device.index == index);
  }

  /**
   * The device that an IP address of this machine belongs to.
   *
   * @param address an address of one of the device's {@linkplain #networkInterfaces interfaces}
   * @return the device
   * @throws VerbsException ENODEV, naming the devices there are
   */
  public static Device withAddress(InetAddress address) {
    return find(list(), "with address " + address.getHostAddress(), device -> device.owns(address));
  }

  private boolean owns(InetAddress address) {
    if (sysfsPath.isEmpty()) { // A software device has no network interface, only GIDs.
      try (Context context = open()) {
        return context.gidTable().stream().anyMatch(e -> e.gid().equals(Gid.of(address)));
      }
    }
    try {
      return new SystemFiles(sysfsPath).owns(address);
    } catch (SocketException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Device find(Provider provider, String wanted, Predicate<Device> matches) {
    return find(list(provider), wanted, matches);
  }

  private static Device find(List<Device> all, String wanted, Predicate<Device> matches) {
    return all.stream()
        .filter(matches)
        .findFirst()
        .orElseThrow(
            () ->
                new VerbsException(
                    "ibv_get_device_list",
                    Errno.ENODEV,
                    "no device " + wanted + "; there are: " + names(all)));
  }

  private static String names(List<Device> devices) {
    return devices.isEmpty()
        ? "none"
        : devices.stream().map(Device::name).collect(Collectors.joining(", "));
  }

  /**
   * Opens the device: {@code ibv_open_device}.
   *
   * @return a context, to be closed
   */
  public Context open() {
    Verbs verbs = provider.verbs();
    long list = list(verbs, 0);
    try {
      for (long entry = list; Memory.getLong(entry) != 0; entry += Long.BYTES) {
        long device = Memory.getLong(entry);
        if (Memory.string(verbs.ibv_get_device_name(device)).equals(name)) {
          return Context.opened(provider, this, verbs.ibv_open_device(device));
        }
      }
    } finally {
      verbs.ibv_free_device_list(list);
    }
    throw new VerbsException("ibv_open_device", Errno.ENODEV, name + " is gone");
  }

  /**
   * Opens again what another context has opened, maybe in another process: {@code
   * ibv_import_device}.
   *
   * @param descriptor a duplicate of {@link Context#commandDescriptor}; the new context closes it
   * @return a context, to be closed
   */
  public static Context importContext(int descriptor) {
    return importContext(Provider.system(), descriptor);
  }

  static Context importContext(Provider provider, int descriptor) {
    if (descriptor < 0) {
      throw new IllegalArgumentException("a device of file descriptor " + descriptor);
    }
    return Context.imported(provider, descriptor);
  }

  /** The device behind a context that C code opened. */
  static Device of(Provider provider, long address) {
    return new Device(provider, address);
  }

  /**
   * The device's name: {@code ibv_get_device_name}.
   *
   * @return the kernel's name, such as {@code mlx5_0}
   */
  public String name() {
    return name;
  }

  /**
   * The name of the device's character device.
   *
   * @return such as {@code uverbs0}
   */
  public String deviceName() {
    return deviceName;
  }

  /**
   * The device's GUID: {@code ibv_get_device_guid}.
   *
   * @return the node GUID as a number, in Java's byte order
   */
  public long guid() {
    return guid;
  }

  /**
   * The kernel's index of the device: {@code ibv_get_device_index}.
   *
   * @return the index, or empty where library or kernel do not tell
   */
  public OptionalInt index() {
    return index < 0 ? OptionalInt.empty() : OptionalInt.of(index);
  }

  /**
   * What kind of node the device is.
   *
   * @return the node type
   */
  public NodeType nodeType() {
    return nodeType;
  }

  /**
   * How the device talks to others.
   *
   * @return the transport type
   */
  public TransportType transportType() {
    return transportType;
  }

  /**
   * Where the kernel describes the device.
   *
   * @return the path below {@code /sys/class/infiniband}
   */
  public String sysfsPath() {
    return sysfsPath;
  }

  /**
   * The NUMA node that the device is attached to, whose memory and processors are near to it.
   *
   * @return the node, or empty where there is but one, or no hardware
   */
  public OptionalInt numaNode() {
    return new SystemFiles(sysfsPath).numaNode();
  }

  /**
   * The network interfaces that share the device, as far as they are in this network namespace.
   *
   * @return the interfaces; empty if the device has no network of IP addresses
   */
  public List<NetworkInterface> networkInterfaces() {
    try {
      return new SystemFiles(sysfsPath).networkInterfaces();
    } catch (SocketException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
