package dev.verbena.internal.host;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.address.GidType;
import dev.verbena.attributes.Statistics;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Information about a device from {@code /sys/class/infiniband}. */
public final class SystemFiles {
  private final Path device;

  public SystemFiles(String device) {
    this.device = Path.of(device);
  }

  /** Returns the NUMA node of the hardware; empty for software devices. */
  public OptionalInt numaNode() {
    return read(device.resolve("device/numa_node"))
        .map(Integer::valueOf)
        .filter(node -> node >= 0)
        .map(OptionalInt::of)
        .orElse(OptionalInt.empty());
  }

  /** Returns the network interfaces of the device that are in this network namespace. */
  public List<NetworkInterface> networkInterfaces() throws SocketException {
    List<NetworkInterface> interfaces = new ArrayList<>();
    for (String name : interfaceNames()) {
      NetworkInterface found = NetworkInterface.getByName(name);
      if (found != null) {
        interfaces.add(found);
      }
    }
    return List.copyOf(interfaces);
  }

  /** Returns whether one of the network interfaces has an address. */
  public boolean owns(InetAddress address) throws SocketException {
    NetworkInterface owner = NetworkInterface.getByInetAddress(address);
    return owner != null && interfaceNames().contains(owner.getName());
  }

  /** Returns the type and interface of a GID. */
  public GidEntry gidEntry(int port, int index, Gid gid) {
    Path attributes = device.resolve("ports/" + port + "/gid_attrs");
    GidType type =
        read(attributes.resolve("types/" + index))
            .map(text -> text.equals("RoCE v2") ? GidType.ROCE_V2 : GidType.ROCE_V1)
            .orElse(GidType.UNKNOWN);
    int interfaceIndex =
        read(attributes.resolve("ndevs/" + index)).map(SystemFiles::interfaceIndex).orElse(0);
    return new GidEntry(gid, index, port, type, interfaceIndex);
  }

  /**
   * Returns the counters of the device and of its ports.
   *
   * @param messages those of the connections of this library
   */
  public Statistics statistics(Map<String, Long> messages) {
    List<Statistics.OfPort> ports = new ArrayList<>();
    for (Path port : children(device.resolve("ports"))) {
      ports.add(
          new Statistics.OfPort(
              Integer.parseInt(port.getFileName().toString()),
              counters(port.resolve("counters")),
              counters(port.resolve("hw_counters"))));
    }
    ports.sort(Comparator.comparingInt(Statistics.OfPort::port));
    return new Statistics(counters(device.resolve("hw_counters")), ports, messages);
  }

  private static Map<String, Long> counters(Path directory) {
    Map<String, Long> counters = new TreeMap<>();
    for (Path file : children(directory)) {
      String name = file.getFileName().toString();
      // How long the kernel keeps the values, in milliseconds, is a setting beside the counters.
      if (!name.equals("lifespan")) {
        read(file)
            .filter(text -> text.matches("\\d{1,20}"))
            .ifPresent(text -> counters.put(name, Long.parseUnsignedLong(text)));
      }
    }
    return counters;
  }

  private static int interfaceIndex(String name) {
    try {
      NetworkInterface found = NetworkInterface.getByName(name);
      return found == null ? 0 : found.getIndex();
    } catch (SocketException e) {
      return 0; // It is in another network namespace.
    }
  }

  private Set<String> interfaceNames() {
    Set<String> names = new TreeSet<>();
    // The interfaces of hardware are below its device directory; librxe has a parent file; each GID
    // names its interface.
    children(device.resolve("device/net"))
        .forEach(path -> names.add(path.getFileName().toString()));
    read(device.resolve("parent")).ifPresent(names::add);
    for (Path port : children(device.resolve("ports"))) {
      for (Path entry : children(port.resolve("gid_attrs/ndevs"))) {
        read(entry).ifPresent(names::add);
      }
    }
    return names;
  }

  /** Returns the first line of a file. The files of empty GIDs exist, but cannot be read. */
  private static Optional<String> read(Path file) {
    try {
      return Optional.of(Files.readString(file).strip()).filter(line -> !line.isEmpty());
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  private static List<Path> children(Path directory) {
    List<Path> paths = new ArrayList<>();
    try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
      stream.forEach(paths::add);
    } catch (IOException e) {
      return List.of(); // Not every device has every directory.
    }
    return paths;
  }
}
