package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.Gid;
import dev.verbena.attributes.NodeType;
import dev.verbena.attributes.TransportType;
import dev.verbena.internal.Codes;
import dev.verbena.internal.DeviceLists;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.NoDevice;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.host.SystemFiles;
import dev.verbena.internal.io.FileDescriptors;
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
 * An RDMA device of this host: {@code struct ibv_device}.
 *
 * <p>A device is a description that is copied from the device list, so there is nothing to close.
 * {@link #open} looks the device up again by its name.
 *
 * {@snippet :
 * Device device = Device.named("mlx5_0");
 * try (Context context = device.open()) {
 *   System.out.println(context.deviceAttributes().maxQueuePairs());
 * }
 * }
 *
 * <p>Instances are immutable and may be used by several threads. See {@code ibv_get_device_list(3)}
 * and {@code ibv_open_device(3)}.
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
   * Returns all RDMA devices of this host: {@code ibv_get_device_list} and {@code
   * ibv_free_device_list}.
   *
   * @return the devices, those of the system property {@code dev.verbena.soft} first, the others in
   *     the order of libibverbs; empty if there are none; then a remedy is logged once
   * @throws VerbsException ENOSYS if the kernel has no RDMA support
   */
  public static List<Device> list() {
    List<Device> all = new ArrayList<>();
    VerbsException missing = null;
    for (Provider provider : Providers.all()) {
      try {
        all.addAll(list(provider));
      } catch (VerbsException e) {
        missing = e;
      }
    }
    if (all.isEmpty() && missing != null) {
      throw missing;
    }
    if (all.isEmpty()) {
      NoDevice.report();
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
          ? Explanation.add(
              e,
              "the kernel has no RDMA support loaded (ib_uverbs, and the driver of the device); "
                  + NoDevice.REMEDY)
          : e;
    }
  }

  /**
   * {@return the device with the given name}
   *
   * @param name the name, such as {@code rxe0} or {@code mlx5_0}
   * @throws VerbsException ENODEV if there is no such device; the message lists the devices
   */
  public static Device named(String name) {
    return find(list(), "named " + name, device -> device.name.equals(name));
  }

  /**
   * {@return the device with the given node GUID}
   *
   * @param guid the GUID, as returned by {@link #guid}
   * @throws VerbsException ENODEV if there is no such device; the message lists the devices
   */
  public static Device withGuid(long guid) {
    String text = "with GUID 0x" + Long.toHexString(guid);
    return find(list(), text, device -> device.guid == guid);
  }

  /**
   * {@return the device with the given kernel index}
   *
   * @param index the index, as returned by {@link #index}
   * @throws VerbsException ENODEV if there is no such device; the message lists the devices
   */
  public static Device withIndex(int index) {
    return find(list(), "with index " + index, device -> device.index == index);
  }

  /**
   * {@return the device with the given IP address}
   *
   * @param address an address of one of the {@linkplain #networkInterfaces network interfaces} of
   *     the device
   * @throws VerbsException ENODEV if there is no such device; the message lists the devices
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

  private static Device find(List<Device> all, String wanted, Predicate<Device> matches) {
    return all.stream()
        .filter(matches)
        .findFirst()
        .orElseThrow(
            () ->
                new VerbsException(
                    "ibv_get_device_list",
                    Errno.ENODEV,
                    "no device " + wanted + "; the devices are: " + names(all)));
  }

  private static String names(List<Device> devices) {
    return devices.isEmpty()
        ? "none; " + NoDevice.REMEDY
        : devices.stream().map(Device::name).collect(Collectors.joining(", "));
  }

  /**
   * Opens the device: {@code ibv_open_device}.
   *
   * @return the context, to be closed
   */
  public Context open() {
    Verbs verbs = provider.verbs();
    long list = list(verbs, 0);
    try {
      for (long entry = list; Memory.getLong(entry) != 0; entry += Long.BYTES) {
        long device = Memory.getLong(entry);
        if (Memory.string(verbs.ibv_get_device_name(device)).equals(name)) {
          return Context.open(provider, () -> verbs.ibv_open_device(device), address -> this);
        }
      }
    } finally {
      verbs.ibv_free_device_list(list);
    }
    throw new VerbsException("ibv_open_device", Errno.ENODEV, "device " + name + " was removed");
  }

  /**
   * Creates a context that shares its kernel objects with an existing context, of this process or
   * another one: {@code ibv_import_device}.
   *
   * @param descriptor {@link Context#commandDescriptor}, or a descriptor of the same file that
   *     another process has sent; it is duplicated and remains open
   * @return the context, to be closed
   */
  public static Context importContext(int descriptor) {
    return importContext(Providers.system(), descriptor);
  }

  static Context importContext(Provider provider, int descriptor) {
    var _ = Ranges.notNegative(descriptor, "file descriptor");
    // C closes what it is given: with the context, and after some failures, but not after others.
    return Context.imported(provider, FileDescriptors.duplicate(descriptor));
  }

  /** The device of a context that C code opened. */
  static Device of(Provider provider, long address) {
    return new Device(provider, address);
  }

  /**
   * Returns the name of the device: {@code ibv_get_device_name}.
   *
   * @return the kernel's name, such as {@code mlx5_0}
   */
  public String name() {
    return name;
  }

  /**
   * Returns the name of the character device.
   *
   * @return the name, such as {@code uverbs0}
   */
  public String deviceName() {
    return deviceName;
  }

  /**
   * Returns the node GUID: {@code ibv_get_device_guid}.
   *
   * @return the GUID in Java's byte order
   */
  public long guid() {
    return guid;
  }

  /**
   * Returns the kernel's index of the device: {@code ibv_get_device_index}.
   *
   * @return the index, or empty if libibverbs or the kernel do not provide it
   */
  public OptionalInt index() {
    return index < 0 ? OptionalInt.empty() : OptionalInt.of(index);
  }

  /** {@return the node type} */
  public NodeType nodeType() {
    return nodeType;
  }

  /** {@return the transport type} */
  public TransportType transportType() {
    return transportType;
  }

  /**
   * Returns the sysfs directory of the device.
   *
   * @return the path below {@code /sys/class/infiniband}
   */
  public String sysfsPath() {
    return sysfsPath;
  }

  /**
   * Returns the NUMA node of the device. Memory and processors of that node have the shortest path
   * to the device.
   *
   * @return the node, or empty if the host has a single node or the device has no hardware
   */
  public OptionalInt numaNode() {
    return new SystemFiles(sysfsPath).numaNode();
  }

  /**
   * {@return the network interfaces of the device that are in this network namespace; empty if the
   * device has none}
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
