package dev.verbena.verbs;

import dev.verbena.raw.ibv_gid_entry;
import java.lang.foreign.MemorySegment;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Objects;
import java.util.Optional;

/**
 * An entry of the GID table of a port: {@code struct ibv_gid_entry}.
 *
 * @param gid the GID
 * @param index the index in the GID table
 * @param port the port number
 * @param type the type of packets that use the GID
 * @param interfaceIndex the index of the network interface; 0 if there is none
 */
public record GidEntry(Gid gid, int index, int port, GidType type, int interfaceIndex) {
  /** Creates an entry. */
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
   * Returns the network interface of the GID.
   *
   * @return the interface; empty on InfiniBand, or if it is in another network namespace
   * @throws SocketException if the interface cannot be determined
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
