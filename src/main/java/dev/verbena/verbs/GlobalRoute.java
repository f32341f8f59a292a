package dev.verbena.verbs;

import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_global_route;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * How to reach a GID: {@code struct ibv_global_route}, which becomes a packet's GRH, or IP header.
 *
 * @param destination the peer's GID
 * @param sourceIndex the own GID's place in the port's table
 * @param flowLabel 20 bits by which routers keep packets of a flow on one path
 * @param hopLimit how many routers a packet may pass
 * @param trafficClass priority, on RoCE the IP header's DSCP and ECN bits
 */
public record GlobalRoute(
    Gid destination, int sourceIndex, int flowLabel, int hopLimit, int trafficClass) {

  /** What IP stacks use; enough for every routed network. */
  static final int DEFAULT_HOP_LIMIT = 64;

  /** Checks that each number fits its field. */
  public GlobalRoute {
    Objects.requireNonNull(destination, "destination");
    Ranges.bits(sourceIndex, Byte.SIZE, "a GID index");
    Ranges.bits(flowLabel, 20, "a flow label");
    Ranges.bits(hopLimit, Byte.SIZE, "a hop limit");
    Ranges.bits(trafficClass, Byte.SIZE, "a traffic class");
  }

  /**
   * A route with the usual hop limit and without flow label and traffic class.
   *
   * @param destination the peer's GID
   * @param sourceIndex the own GID's place in the port's table
   */
  public GlobalRoute(Gid destination, int sourceIndex) {
    this(destination, sourceIndex, 0, DEFAULT_HOP_LIMIT, 0);
  }

  /**
   * The UDP source port that RoCE v2 makes of the flow label, so that switches spread flows: {@code
   * ibv_flow_label_to_udp_sport}.
   *
   * @return 0xc000 to 0xffff
   */
  public int udpSourcePort() {
    return Verbs.ibv_flow_label_to_udp_sport(flowLabel);
  }

  @Override
  public String toString() {
    return "GID %s from GID index %d".formatted(destination, sourceIndex);
  }

  void writeTo(MemorySegment route) {
    destination.writeTo(ibv_global_route.dgid(route));
    ibv_global_route.sgid_index(route, (byte) sourceIndex);
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
}
