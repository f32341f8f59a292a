package dev.verbena.internal;

import dev.verbena.internal.time.Time;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The IP addresses of this host whose network interface has an RDMA device: those of the GIDs of
 * each device, and of IP over InfiniBand. They are read from sysfs again after a second; later, if
 * that takes long: a device has hundreds of GIDs.
 */
final class RdmaAddresses {
  private static final long KEPT = TimeUnit.SECONDS.toNanos(1);
  private static final long LONGEST = TimeUnit.SECONDS.toNanos(10);

  /** Reading takes at most one of so many parts of the time. */
  private static final int SHARE = 50;

  private final Path classes;
  private @Nullable Set<InetAddress> addresses;
  private long next; // When they are read again.

  /** Makes those of a folder such as {@code /sys/class}. */
  RdmaAddresses(Path classes) {
    this.classes = classes;
  }

  /**
   * Returns whether a connection to an address begins at one of them; the local one may be null.
   */
  boolean reach(InetAddress host, @Nullable InetAddress local) {
    Set<InetAddress> all = all();
    if (all.isEmpty() || host.isAnyLocalAddress()) {
      return !all.isEmpty();
    } else if (local != null && !local.isAnyLocalAddress()) {
      return all.contains(local);
    }
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.connect(new InetSocketAddress(host, 1)); // Nothing is sent.
      return all.contains(socket.getLocalAddress());
    } catch (SocketException e) {
      return false; // There is no route.
    }
  }

  private synchronized Set<InetAddress> all() {
    Set<InetAddress> known = addresses;
    long start = Time.now();
    if (known == null || start - next >= 0) {
      known = read();
      addresses = known;
      long end = Time.now();
      next = end + Math.clamp(SHARE * (end - start), KEPT, LONGEST);
    }
    return known;
  }

  private Set<InetAddress> read() {
    List<Path> devices = files(classes.resolve("infiniband"));
    if (devices.isEmpty()) {
      return Set.of();
    }
    Set<InetAddress> found = new HashSet<>();
    Set<String> names = new HashSet<>();
    for (Path device : devices) {
      for (Path port : files(device.resolve("ports"))) {
        files(port.resolve("gid_attrs", "ndevs")).forEach(file -> names.add(text(file)));
      }
    }
    try {
      for (NetworkInterface each : NetworkInterface.networkInterfaces().toList()) {
        Path type = classes.resolve("net", each.getName(), "type");
        if (names.contains(each.getName()) || text(type).equals("32") /* InfiniBand */) {
          each.inetAddresses().forEach(found::add);
        }
      }
    } catch (SocketException e) {
      // There are none.
    }
    return found;
  }

  /** Returns the files of a folder; none if it cannot be read, as that of a removed device. */
  private static List<Path> files(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    } catch (IOException | UncheckedIOException e) {
      return List.of();
    }
  }

  /** Returns the text of a file; empty if it cannot be read, as that of a GID that is not used. */
  private static String text(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      return "";
    }
  }
}
