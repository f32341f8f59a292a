package dev.verbena.verbs;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.address.GidType;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.PortAttributes;
import java.net.InetAddress;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The local GID or LID of a port that a queue pair uses, and the reason for its choice.
 *
 * <p>On Ethernet it is a GID, chosen in this order: RoCE v2 before RoCE v1, which is not routable;
 * an IPv4 address before a global IPv6 address before a link-local address, since both sides must
 * choose the same address family and link-local addresses do not leave the link; the lowest index.
 * A source address restricts the choice to its GIDs. If the address of the peer is known, its
 * address family is required, and the GID of the address that the kernel would send from is
 * preferred to all others: with several VLANs or subnets it decides. GIDs whose network interface
 * is in another network namespace are never chosen. On InfiniBand the LID is used; other subnets
 * are reached by a path record only.
 */
public final class GidChoice {
  private final GidEntry entry;
  private final int lid;
  private final String reason;

  GidChoice(GidEntry entry, int lid, String reason) {
    this.entry = Objects.requireNonNull(entry, "entry");
    this.lid = lid;
    this.reason = Objects.requireNonNull(reason, "reason");
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

  static GidChoice of(
      List<GidEntry> table,
      PortAttributes attributes,
      @Nullable InetAddress source,
      @Nullable InetAddress peer,
      String port) {
    if (attributes.linkLayer() != LinkLayer.ETHERNET) {
      return ofInfiniBand(table, source, attributes.lid(), port);
    }
    List<GidEntry> visible = LocalAddresses.now().visible(table, port);
    return source == null && peer != null
        ? toward(visible, peer, LocalAddresses.sourceTo(peer), port)
        : ofEthernet(visible, source, port);
  }

  /**
   * Chooses by the address of the peer.
   *
   * @param route the address that the kernel sends from to the peer; null if there is no route
   */
  static GidChoice toward(
      List<GidEntry> table, InetAddress peer, @Nullable InetAddress route, String port) {
    boolean ipv4 = Gid.of(peer).isIpv4Mapped();
    List<GidEntry> family =
        table.stream().filter(entry -> entry.gid().isIpv4Mapped() == ipv4).toList();
    if (family.isEmpty() && !table.isEmpty()) {
      throw new IllegalStateException(
          "%s has no GID of the address family of the peer %s; it has %s"
              .formatted(port, peer.getHostAddress(), texts(table)));
    }
    List<GidEntry> routed = route == null ? List.of() : matching(family, route);
    if (routed.isEmpty()) {
      return ofEthernet(family, null, port);
    }
    GidEntry best = routed.stream().min(PREFERENCE).orElseThrow();
    String reason =
        "of %s, the source of the route to %s, %s"
            .formatted(route.getHostAddress(), peer.getHostAddress(), best.type().text());
    return new GidChoice(best, 0, reason);
  }

  static GidChoice ofEthernet(List<GidEntry> table, @Nullable InetAddress source, String port) {
    List<GidEntry> candidates = matching(table, source);
    GidEntry best =
        candidates.stream().min(PREFERENCE).orElseThrow(() -> none(table, source, port));
    String matched = source == null ? "" : "of " + source.getHostAddress() + ", ";
    String reason =
        "%s%s, %s, the best of %d on %s"
            .formatted(matched, best.type().text(), scope(best.gid()), candidates.size(), port);
    return new GidChoice(best, 0, reason);
  }

  static GidChoice ofInfiniBand(
      List<GidEntry> table, @Nullable InetAddress source, int lid, String port) {
    GidEntry first =
        matching(table, source).stream()
            .min(Comparator.comparingInt(GidEntry::index))
            .orElseThrow(() -> none(table, source, port));
    return new GidChoice(
        first, lid, "InfiniBand: by LID " + lid + "; other subnets need a path record");
  }

  private static List<GidEntry> matching(List<GidEntry> table, @Nullable InetAddress source) {
    if (source == null) {
      return table;
    }
    Gid wanted = Gid.of(source);
    return table.stream().filter(entry -> entry.gid().equals(wanted)).toList();
  }

  private static IllegalStateException none(
      List<GidEntry> table, @Nullable InetAddress source, String port) {
    if (table.isEmpty() || source == null) {
      return new IllegalStateException(
          port + " has no GID: its network interface must be up and have an address");
    }
    return new IllegalStateException(
        "%s has no GID of %s; it has %s".formatted(port, source.getHostAddress(), texts(table)));
  }

  static String texts(List<GidEntry> table) {
    return table.stream().map(entry -> entry.gid().toString()).collect(Collectors.joining(", "));
  }

  /** {@return the entry of the GID table} */
  public GidEntry entry() {
    return entry;
  }

  /** {@return the LID of the port; 0 on Ethernet} */
  public int lid() {
    return lid;
  }

  /**
   * Returns the reason for the choice.
   *
   * @return the reason, as text for people
   */
  public String reason() {
    return reason;
  }

  /** {@return the GID} */
  public Gid gid() {
    return entry.gid();
  }

  /** {@return the index of the GID in the GID table} */
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

  /** Returns why packets do not reach a remote GID, and what to do. */
  Optional<String> mismatch(Gid remote, GidType remoteType) {
    if (!isGlobal()) {
      return gid().subnetPrefix() == remote.subnetPrefix()
          ? Optional.empty()
          : Optional.of(
              ("the remote GID %s is not in the InfiniBand subnet of the local GID %s: packets must"
                   + " go to the LID of a router, which only the subnet manager knows; connect by"
                   + " RDMA CM, or modify the queue pair with the path of a path record")
                  .formatted(remote, gid()));
    }
    String fault = null;
    if (gid().isIpv4Mapped() != remote.isIpv4Mapped()) {
      fault =
          "the local GID %s and the remote GID %s are of different address families"
              .formatted(gid(), remote);
    } else if (isRoce(entry.type()) && isRoce(remoteType) && entry.type() != remoteType) {
      fault =
          "the local GID %s is of type %s, the remote GID %s of type %s"
              .formatted(gid(), entry.type().text(), remote, remoteType.text());
    }
    return Optional.ofNullable(fault)
        .map(text -> text + "; set a local GID of the same family and type: setup().gid(index)");
  }

  private static boolean isRoce(GidType type) {
    return type == GidType.ROCE_V1 || type == GidType.ROCE_V2;
  }

  @Override
  public String toString() {
    return entry + ": " + reason;
  }
}
