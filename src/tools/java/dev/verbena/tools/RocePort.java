package dev.verbena.tools;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Who has the UDP port of RoCE v2 in this network namespace, as {@code /proc/net/udp} tells. */
final class RocePort {
  private static final int PORT = 4791;
  private static final String ELSEWHERE =
      "for a software device over UDP: a network namespace of its own, or another port at both"
          + " ends: udp:ADDRESS:PORT";

  private final Machine machine;

  RocePort(Machine machine) {
    this.machine = machine;
  }

  /** Checks whether a software device over UDP can have the port. */
  Check check() {
    String port = "UDP port " + PORT;
    List<InetAddress> addresses = addresses();
    if (addresses.isEmpty()) {
      return Check.ok(
          "software device over UDP: "
              + port
              + " is free; --device udp:ADDRESS for the programs of this command line,"
              + " VERBENA_SOFT=udp:ADDRESS for others");
    }
    if (addresses.stream().noneMatch(InetAddress::isAnyLocalAddress)) {
      return Check.ok(
          "software device over UDP: "
              + port
              + " is in use on "
              + addresses.stream()
                  .map(InetAddress::getHostAddress)
                  .collect(Collectors.joining(", "))
              + ", and free on other addresses");
    }
    return machine.hasModule("rdma_rxe")
        ? Check.note(port + " is taken by the kernel's Soft-RoCE (rdma_rxe)", ELSEWHERE)
        : Check.note(port + " is taken by another process (ss -ulpn shows it)", ELSEWHERE);
  }

  /** The local addresses of the sockets that are bound to the port. */
  private List<InetAddress> addresses() {
    return Stream.of("/proc/net/udp", "/proc/net/udp6")
        .flatMap(file -> machine.lines(file).stream().skip(1))
        .map(line -> line.strip().split("\\s+", -1)[1].split(":", -1))
        .filter(local -> Integer.parseInt(local[1], 16) == PORT)
        .map(local -> address(local[0]))
        .distinct()
        .toList();
  }

  /** An address of 32-bit words in the byte order of the host, which is little-endian. */
  private static InetAddress address(String words) {
    byte[] bytes = HexFormat.of().parseHex(words);
    byte[] address = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      address[i] = bytes[i ^ 3];
    }
    try {
      return InetAddress.getByAddress(address);
    } catch (UnknownHostException e) {
      throw new AssertionError(e); // It has 4 or 16 bytes.
    }
  }
}
