package dev.verbena.address;

import dev.verbena.internal.Ranges;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_global_route;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The fields of the global routing header (GRH) of packets to a GID: {@code struct
 * ibv_global_route}. With RoCE v2 they become fields of the IP header.
 *
 * <p>Required in the address vector of every destination on Ethernet, and of destinations in
 * another subnet on InfiniBand.
 *
 * {@snippet :
 * GlobalRoute route = new GlobalRoute(peerGid, localGidIndex).withTrafficClass(0x60);
 * }
 */
public final class GlobalRoute {
  /** The default of IP stacks, enough for every routed network. */
  public static final int DEFAULT_HOP_LIMIT = 64;

  private final Gid destination;
  private final int sourceGidIndex;
  private final int flowLabel;
  private final int hopLimit;
  private final int trafficClass;

  /**
   * Creates a route with flow label 0, hop limit 64 and traffic class 0.
   *
   * @param destination the destination GID
   * @param sourceGidIndex the index of the source GID in the GID table of the local port
   */
  public GlobalRoute(Gid destination, int sourceGidIndex) {
    this(destination, sourceGidIndex, 0, DEFAULT_HOP_LIMIT, 0);
  }

  private GlobalRoute(
      Gid destination, int sourceGidIndex, int flowLabel, int hopLimit, int trafficClass) {
    this.destination = Objects.requireNonNull(destination, "destination");
    this.sourceGidIndex = Ranges.bits(sourceGidIndex, Byte.SIZE, "a GID index");
    this.flowLabel = Ranges.bits(flowLabel, 20, "a flow label");
    this.hopLimit = Ranges.bits(hopLimit, Byte.SIZE, "a hop limit");
    this.trafficClass = Ranges.bits(trafficClass, Byte.SIZE, "a traffic class");
  }

  /**
   * {@return this route with another flow label} Routers keep packets of one flow label on one
   * path; RoCE v2 derives the {@linkplain #udpSourcePort UDP source port} from it.
   *
   * @param label 20 bits
   */
  public GlobalRoute withFlowLabel(int label) {
    return new GlobalRoute(destination, sourceGidIndex, label, hopLimit, trafficClass);
  }

  /**
   * {@return this route with another hop limit}
   *
   * @param limit the maximum number of routers on the path, 0 to 255
   */
  public GlobalRoute withHopLimit(int limit) {
    return new GlobalRoute(destination, sourceGidIndex, flowLabel, limit, trafficClass);
  }

  /**
   * {@return this route with another traffic class}
   *
   * @param value 0 to 255; with RoCE v2 the DSCP and ECN bits of the IP header
   */
  public GlobalRoute withTrafficClass(int value) {
    return new GlobalRoute(destination, sourceGidIndex, flowLabel, hopLimit, value);
  }

  /** {@return the destination GID: {@code dgid}} */
  public Gid destination() {
    return destination;
  }

  /**
   * {@return the index of the source GID in the GID table of the local port, 0 to 255: {@code
   * sgid_index}}
   */
  public int sourceGidIndex() {
    return sourceGidIndex;
  }

  /** {@return the flow label, of 20 bits} */
  public int flowLabel() {
    return flowLabel;
  }

  /** {@return the hop limit, 0 to 255} */
  public int hopLimit() {
    return hopLimit;
  }

  /** {@return the traffic class, 0 to 255} */
  public int trafficClass() {
    return trafficClass;
  }

  /**
   * {@return the UDP source port, 0xc000 to 0xffff, that RoCE v2 derives from the flow label, so
   * that switches distribute flows over paths: {@code ibv_flow_label_to_udp_sport}}
   */
  public int udpSourcePort() {
    return Verbs.ibv_flow_label_to_udp_sport(flowLabel);
  }

  void writeTo(MemorySegment route) {
    destination.writeTo(ibv_global_route.dgid(route));
    ibv_global_route.sgid_index(route, (byte) sourceGidIndex);
    ibv_global_route.flow_label(route, flowLabel);
    ibv_global_route.hop_limit(route, (byte) hopLimit);
    ibv_global_route.traffic_class(route, (byte) trafficClass);
  }

  static GlobalRoute readFrom(MemorySegment route) {
    return new GlobalRoute(
        Gid.readFrom(ibv_global_route.dgid(route)),
        Byte.toUnsignedInt(ibv_global_route.sgid_index(route)),
        ibv_global_route.flow_label(route),
        Byte.toUnsignedInt(ibv_global_route.hop_limit(route)),
        Byte.toUnsignedInt(ibv_global_route.traffic_class(route)));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof GlobalRoute that
        && that.destination.equals(destination)
        && that.sourceGidIndex == sourceGidIndex
        && that.flowLabel == flowLabel
        && that.hopLimit == hopLimit
        && that.trafficClass == trafficClass;
  }

  @Override
  public int hashCode() {
    return Objects.hash(destination, sourceGidIndex, flowLabel, hopLimit, trafficClass);
  }

  @Override
  public String toString() {
    return "GID %s from GID index %d".formatted(destination, sourceGidIndex);
  }
}
