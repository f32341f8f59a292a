package dev.verbena.address;

import dev.verbena.internal.AttributeText;
import dev.verbena.internal.Codes;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_gid_entry;
import dev.verbena.verbs.Port;
import java.lang.foreign.MemorySegment;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** An entry of the GID table of a port: {@code struct ibv_gid_entry}. See {@link Port#gidTable}. */
public final class GidEntry {
  private final Gid gid;
  private final int index;
  private final int port;
  private final GidType type;
  private final int interfaceIndex;

  /**
   * Creates an entry.
   *
   * @param gid the GID
   * @param index its index in the table of the port
   * @param port the number of the port
   * @param type the type of the GID
   * @param interfaceIndex the index of the network interface; 0 if there is none
   */
  public GidEntry(Gid gid, int index, int port, GidType type, int interfaceIndex) {
    this.gid = Objects.requireNonNull(gid, "gid");
    this.index = index;
    this.port = port;
    this.type = Objects.requireNonNull(type, "type");
    this.interfaceIndex = interfaceIndex;
  }

  /**
   * Reads an entry from a C struct.
   *
   * @param entry a {@code struct ibv_gid_entry}
   * @return the entry
   */
  public static GidEntry readFrom(MemorySegment entry) {
    Segments.readable(entry, ibv_gid_entry.layout());
    return new GidEntry(
        Gid.readFrom(ibv_gid_entry.gid(entry)),
        ibv_gid_entry.gid_index(entry),
        ibv_gid_entry.port_num(entry),
        Codes.of(GidType.class, ibv_gid_entry.gid_type(entry), GidType.UNKNOWN),
        ibv_gid_entry.ndev_ifindex(entry));
  }

  /** {@return the GID} */
  public Gid gid() {
    return gid;
  }

  /** {@return the index in the GID table} */
  public int index() {
    return index;
  }

  /** {@return the number of the port, from 1 on} */
  public int port() {
    return port;
  }

  /** {@return the type of packets that use the GID} */
  public GidType type() {
    return type;
  }

  /** {@return the index of the network interface in its network namespace; 0 if there is none} */
  public int interfaceIndex() {
    return interfaceIndex;
  }

  /**
   * {@return the network interface of the GID; empty on InfiniBand, or if it is in another network
   * namespace}
   *
   * @throws SocketException if the interface cannot be determined
   */
  public Optional<NetworkInterface> networkInterface() throws SocketException {
    return interfaceIndex == 0
        ? Optional.empty()
        : Optional.ofNullable(NetworkInterface.getByIndex(interfaceIndex));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof GidEntry that
        && that.gid.equals(gid)
        && that.index == index
        && that.port == port
        && that.type == type
        && that.interfaceIndex == interfaceIndex;
  }

  @Override
  public int hashCode() {
    return Objects.hash(gid, index, port, type, interfaceIndex);
  }

  @Override
  public String toString() {
    return new AttributeText(GidEntry.class)
        .add("gid", gid())
        .add("index", index())
        .add("port", port())
        .add("type", type())
        .add("interfaceIndex", interfaceIndex())
        .toString();
  }
}
