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
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The IP addresses of this host whose network interface has an RDMA device: those of the GIDs of
 * each device, and of IP over InfiniBand. They are read from sysfs again after a second.
 */
final class RdmaAddresses {
  private static final long KEPT = TimeUnit.SECONDS.toNanos(1);

  private final Path classes;
  private @Nullable Set<InetAddress> addresses;
  private long read;

  /** Makes those of a folder such as {@code /sys/class}. */
  RdmaAddresses(Path classes) {
    this.classes = classes;
  }

  /** Returns whether one of them is an address, or sends to it: the own address, if it is known. */
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
    if (known == null || Time.now() - read > KEPT) {
      known = read();
      addresses = known;
      read = Time.now();
    }
    return known;
  }

  private Set<InetAddress> read() {
    Set<InetAddress> found = new HashSet<>();
    Set<String> names = new HashSet<>();
    try (Stream<Path> devices = Files.list(classes.resolve("infiniband"))) {
      for (Path device : devices.toList()) {
        try (Stream<Path> files = Files.walk(device.resolve("ports"))) {
          files
              .filter(file -> file.getParent().endsWith("ndevs"))
              .map(this::text)
              .forEach(names::add);
        }
      }
      for (NetworkInterface each : NetworkInterface.networkInterfaces().toList()) {
        Path type = classes.resolve("net", each.getName(), "type");
        if (names.contains(each.getName()) || text(type).equals("32") /* InfiniBand */) {
          each.inetAddresses().forEach(found::add);
        }
      }
    } catch (IOException | UncheckedIOException e) {
      // No device, or one that is being removed.
    }
    return found;
  }

  /** Returns the text of a file; empty if it cannot be read, as that of a GID that is not used. */
  private String text(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      return "";
    }
  }
}
