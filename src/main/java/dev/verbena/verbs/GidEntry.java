package dev.verbena.verbs;

import dev.verbena.raw.ibv_gid_entry;
import java.lang.foreign.MemorySegment;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Objects;
import java.util.Optional;

/**
 * An entry of a port's GID table: {@code struct ibv_gid_entry}.
 *
 * @param gid the GID
 * @param index its place in the port's table
 * @param port the port
 * @param type what packets it is for
 * @param interfaceIndex the network interface it comes from, as the system counts them; 0 if none
 */
public record GidEntry(Gid gid, int index, int port, GidType type, int interfaceIndex) {
  /** Checks that nothing is missing. */
  public GidEntry {
    Objects.requireNonNull(gid, "gid");
    Objects.requireNonNull(type, "type");
  }

  static GidEntry readFrom(MemorySegment entry) {
    return new GidEntry(
        Gid.readFrom(ibv_gid_entry.gid(entry)),
        ibv_gid_entry.gid_index(entry),
        ibv_gid_entry.port_num(entry),
        Codes.of(GidType.class, ibv_gid_entry.gid_type(entry), GidType.UNKNOWN),
        ibv_gid_entry.ndev_ifindex(entry));
  }

  /**
   * The network interface that the GID comes from.
   *
   * @return the interface; empty on InfiniBand, or if it is in another network namespace
   * @throws SocketException if the system does not tell
   */
  public Optional<NetworkInterface> networkInterface() throws SocketException {
    return interfaceIndex == 0
        ? Optional.empty()
        : Optional.ofNullable(NetworkInterface.getByIndex(interfaceIndex));
  }

  @Override
  public String toString() {
    return "GID " + index + " of port " + port + ": " + gid + " (" + type.text() + ")";
  }
}
