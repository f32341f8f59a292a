package dev.verbena.verbs;

import dev.verbena.raw.ibv_ah_attr;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;

/**
 * An address vector (AV): the path to a destination ({@code struct ibv_ah_attr}).
 *
 * {@snippet :
 * AddressVector path = AddressVector.global(1, new GlobalRoute(remoteGid, localGidIndex));
 * }
 *
 * <p>See {@code ibv_create_ah(3)}.
 *
 * @param port the local port number
 * @param route the fields of the global routing header (GRH); required on Ethernet
 * @param lid the LID of the destination, or of the router to it; 0 on Ethernet
 * @param serviceLevel the service level, 0 to 15
 * @param sourcePathBits the low bits of the local LID
 * @param rate the maximum static rate
 */
public record AddressVector(
    int port,
    Optional<GlobalRoute> route,
    int lid,
    int serviceLevel,
    int sourcePathBits,
    Rate rate) {

  /**
   * Creates an address vector.
   *
   * @throws IllegalArgumentException if a number is out of the range of its field
   */
  public AddressVector {
    Ranges.port(port);
    Objects.requireNonNull(route, "route");
    Ranges.bits(lid, Short.SIZE, "a LID");
    Ranges.bits(serviceLevel, 4, "a service level");
    Ranges.bits(sourcePathBits, 7, "source path bits");
    Objects.requireNonNull(rate, "rate");
  }

  /**
   * Returns the path to a GID, with service level 0 and no rate limit.
   *
   * @param port the local port number
   * @param route the fields of the global routing header (GRH), with the destination GID
   * @return the path
   */
  public static AddressVector global(int port, GlobalRoute route) {
    return new AddressVector(port, Optional.of(route), 0, 0, 0, Rate.MAX);
  }

  /**
   * Returns the path to a LID of the local subnet, with service level 0 and no rate limit.
   *
   * @param port the local port number
   * @param lid the LID of the destination
   * @return the path
   */
  public static AddressVector local(int port, int lid) {
    return new AddressVector(port, Optional.empty(), lid, 0, 0, Rate.MAX);
  }

  /**
   * Returns this path with another service level.
   *
   * @param level 0 to 15; on Ethernet the VLAN priority
   * @return the path
   */
  public AddressVector withServiceLevel(int level) {
    return new AddressVector(port, route, lid, level, sourcePathBits, rate);
  }

  /**
   * Returns this path with a rate limit.
   *
   * @param limit the maximum static rate
   * @return the path
   */
  public AddressVector withRate(Rate limit) {
    return new AddressVector(port, route, lid, serviceLevel, sourcePathBits, limit);
  }

  @Override
  public String toString() {
    String to = route.map(GlobalRoute::toString).orElse("LID " + lid);
    return "the path to %s, port %d".formatted(to, port);
  }

  void writeTo(MemorySegment attributes) {
    route.ifPresent(global -> global.writeTo(ibv_ah_attr.grh(attributes)));
    ibv_ah_attr.is_global(attributes, (byte) (route.isPresent() ? 1 : 0));
    ibv_ah_attr.dlid(attributes, (short) lid);
    ibv_ah_attr.sl(attributes, (byte) serviceLevel);
    ibv_ah_attr.src_path_bits(attributes, (byte) sourcePathBits);
    ibv_ah_attr.static_rate(attributes, (byte) rate.code());
    ibv_ah_attr.port_num(attributes, (byte) port);
  }

  /**
   * Reads the path of a struct that C filled.
   *
   * @param attributes a {@code struct ibv_ah_attr}
   * @return the path, or empty if the struct contains no port, as before state RTR
   */
  public static Optional<AddressVector> readFrom(MemorySegment attributes) {
    int port = Byte.toUnsignedInt(ibv_ah_attr.port_num(attributes));
    if (port == 0) {
      return Optional.empty();
    }
    Optional<GlobalRoute> route =
        ibv_ah_attr.is_global(attributes) == 0
            ? Optional.empty()
            : Optional.of(GlobalRoute.readFrom(ibv_ah_attr.grh(attributes)));
    return Optional.of(
        new AddressVector(
            port,
            route,
            Short.toUnsignedInt(ibv_ah_attr.dlid(attributes)),
            ibv_ah_attr.sl(attributes) & 0xf,
            ibv_ah_attr.src_path_bits(attributes) & 0x7f,
            Codes.of(Rate.class, ibv_ah_attr.static_rate(attributes), Rate.MAX)));
  }
}
