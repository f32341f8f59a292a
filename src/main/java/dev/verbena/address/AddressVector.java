package dev.verbena.address;

import dev.verbena.internal.Codes;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_ah_attr;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An address vector (AV): the path to a destination ({@code struct ibv_ah_attr}).
 *
 * {@snippet :
 * AddressVector path = AddressVector.global(1, new GlobalRoute(remoteGid, localGidIndex));
 * }
 *
 * <p>See {@code ibv_create_ah(3)}.
 */
public final class AddressVector {
  private final int port;
  private final Optional<GlobalRoute> route;
  private final int lid;
  private final int serviceLevel;
  private final int sourcePathBits;
  private final Rate rate;

  private AddressVector(
      int port,
      Optional<GlobalRoute> route,
      int lid,
      int serviceLevel,
      int sourcePathBits,
      Rate rate) {
    this.port = Ranges.port(port);
    this.route = route;
    this.lid = Ranges.bits(lid, Short.SIZE, "a LID");
    this.serviceLevel = Ranges.bits(serviceLevel, 4, "a service level");
    this.sourcePathBits = Ranges.bits(sourcePathBits, 7, "source path bits");
    this.rate = Objects.requireNonNull(rate, "rate");
  }

  /**
   * {@return the path to a GID, with service level 0 and no rate limit}
   *
   * @param port the local port number
   * @param route the fields of the global routing header (GRH), with the destination GID
   */
  public static AddressVector global(int port, GlobalRoute route) {
    return new AddressVector(port, Optional.of(route), 0, 0, 0, Rate.MAX);
  }

  /**
   * {@return the path to a LID of the local subnet, with service level 0 and no rate limit}
   *
   * @param port the local port number
   * @param lid the LID of the destination
   */
  public static AddressVector local(int port, int lid) {
    return new AddressVector(port, Optional.empty(), lid, 0, 0, Rate.MAX);
  }

  /**
   * {@return this path from another port}
   *
   * @param port the local port number, 1 to 255
   */
  public AddressVector withPort(int port) {
    return new AddressVector(port, route, lid, serviceLevel, sourcePathBits, rate);
  }

  /**
   * {@return this path with a LID, for a GID that is reached through a router of the subnet}
   *
   * @param lid the LID of the router, or of the destination
   */
  public AddressVector withLid(int lid) {
    return new AddressVector(port, route, lid, serviceLevel, sourcePathBits, rate);
  }

  /**
   * {@return this path with another service level}
   *
   * @param level 0 to 15; on Ethernet the VLAN priority
   */
  public AddressVector withServiceLevel(int level) {
    return new AddressVector(port, route, lid, level, sourcePathBits, rate);
  }

  /**
   * {@return this path with other source path bits}
   *
   * @param bits the low bits of the local LID, 0 to 127
   */
  public AddressVector withSourcePathBits(int bits) {
    return new AddressVector(port, route, lid, serviceLevel, bits, rate);
  }

  /**
   * {@return this path with a rate limit}
   *
   * @param limit the maximum static rate
   */
  public AddressVector withRate(Rate limit) {
    return new AddressVector(port, route, lid, serviceLevel, sourcePathBits, limit);
  }

  /** {@return the local port number, 1 to 255: {@code port_num}} */
  public int port() {
    return port;
  }

  /**
   * {@return the fields of the global routing header (GRH), which Ethernet requires: {@code grh}}
   */
  public Optional<GlobalRoute> route() {
    return route;
  }

  /** {@return the LID of the destination, or of the router to it, 0 on Ethernet: {@code dlid}} */
  public int lid() {
    return lid;
  }

  /** {@return the service level, 0 to 15: {@code sl}} */
  public int serviceLevel() {
    return serviceLevel;
  }

  /** {@return the low bits of the local LID, 0 to 127: {@code src_path_bits}} */
  public int sourcePathBits() {
    return sourcePathBits;
  }

  /** {@return the maximum static rate: {@code static_rate}} */
  public Rate rate() {
    return rate;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof AddressVector that
        && that.port == port
        && that.route.equals(route)
        && that.lid == lid
        && that.serviceLevel == serviceLevel
        && that.sourcePathBits == sourcePathBits
        && that.rate == rate;
  }

  @Override
  public int hashCode() {
    return Objects.hash(port, route, lid, serviceLevel, sourcePathBits, rate);
  }

  @Override
  public String toString() {
    String to = route.map(GlobalRoute::toString).orElse("LID " + lid);
    return "the path to %s, port %d".formatted(to, port);
  }

  /**
   * Writes this path to a C struct.
   *
   * @param attributes a {@code struct ibv_ah_attr}
   */
  public void writeTo(MemorySegment attributes) {
    Segments.writable(attributes, ibv_ah_attr.layout());
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
    Segments.readable(attributes, ibv_ah_attr.layout());
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
