package dev.verbena.verbs;

import java.net.InetAddress;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The local GID or LID of a port that a queue pair uses, and the reason for its choice.
 *
 * <p>On Ethernet it is a GID, chosen in this order: RoCE v2 before RoCE v1, which is not routable;
 * an IPv4 address before a global IPv6 address before a link-local address, since both sides must
 * choose the same address family and link-local addresses do not leave the link; the lowest index.
 * A source address restricts the choice to its GIDs. On InfiniBand the LID is used, and the GID for
 * destinations in other subnets.
 *
 * @param entry the entry of the GID table
 * @param lid the LID of the port; 0 on Ethernet
 * @param reason the reason for the choice
 */
public record GidChoice(GidEntry entry, int lid, String reason) {
  /** Creates a choice. */
  public GidChoice {
    Objects.requireNonNull(entry, "entry");
    Objects.requireNonNull(reason, "reason");
  }

  private static final Comparator<GidEntry> PREFERENCE =
      Comparator.comparingInt((GidEntry entry) -> typeRank(entry.type()))
          .thenComparingInt(entry -> scopeRank(entry.gid()))
          .thenComparingInt(GidEntry::index);

  private static int typeRank(GidType type) {
    return switch (type) {
      case ROCE_V2 -> 0;
      case ROCE_V1 -> 1;
      case IB, UNKNOWN -> 2;
    };
  }

  private static int scopeRank(Gid gid) {
    return gid.isIpv4Mapped() ? 0 : gid.isLinkLocal() ? 2 : 1;
  }

  private static String scope(Gid gid) {
    return switch (scopeRank(gid)) {
      case 0 -> "IPv4 address";
      case 1 -> "global IPv6 address";
      default -> "link-local address";
    };
  }

  static GidChoice of(Port port, InetAddress source) {
    PortAttributes attributes = port.attributes();
    return attributes.linkLayer() == LinkLayer.ETHERNET
        ? ofEthernet(port.gidTable(), source, port.toString())
        : ofInfiniBand(port.gidTable(), source, attributes.lid(), port.toString());
  }

  static GidChoice ofEthernet(List<GidEntry> table, InetAddress source, String port) {
    List<GidEntry> candidates = matching(table, source);
    GidEntry best =
        candidates.stream().min(PREFERENCE).orElseThrow(() -> none(table, source, port));
    String matched = source == null ? "" : "of " + source.getHostAddress() + ", ";
    String reason =
        "%s%s, %s, the best of %d on %s"
            .formatted(matched, best.type().text(), scope(best.gid()), candidates.size(), port);
    return new GidChoice(best, 0, reason);
  }

  static GidChoice ofInfiniBand(List<GidEntry> table, InetAddress source, int lid, String port) {
    GidEntry first =
        matching(table, source).stream()
            .min(Comparator.comparingInt(GidEntry::index))
            .orElseThrow(() -> none(table, source, port));
    return new GidChoice(
        first, lid, "InfiniBand: by LID " + lid + "; by GID only from other subnets");
  }

  private static List<GidEntry> matching(List<GidEntry> table, InetAddress source) {
    if (source == null) {
      return table;
    }
    Gid wanted = Gid.of(source);
    return table.stream().filter(entry -> entry.gid().equals(wanted)).toList();
  }

  private static IllegalStateException none(List<GidEntry> table, InetAddress source, String port) {
    if (table.isEmpty()) {
      return new IllegalStateException(
          port + " has no GID: its network interface must be up and have an address");
    }
    return new IllegalStateException(
        "%s has no GID of %s; it has %s"
            .formatted(
                port,
                source.getHostAddress(),
                table.stream()
                    .map(entry -> entry.gid().toString())
                    .collect(Collectors.joining(", "))));
  }

  /**
   * Returns the GID.
   *
   * @return the GID
   */
  public Gid gid() {
    return entry.gid();
  }

  /**
   * Returns the index of the GID in the GID table.
   *
   * @return the index
   */
  public int index() {
    return entry.index();
  }

  /**
   * Returns whether remote sides require the GID, as there is no LID.
   *
   * @return true on Ethernet
   */
  public boolean isGlobal() {
    return lid == 0;
  }

  static Optional<String> mismatch(Gid local, Gid remote) {
    return local.isIpv4Mapped() == remote.isIpv4Mapped()
        ? Optional.empty()
        : Optional.of(
            "the local GID %s and the remote GID %s are of different address families"
                .formatted(local, remote));
  }
}
