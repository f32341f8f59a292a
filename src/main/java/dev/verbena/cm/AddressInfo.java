package dev.verbena.cm;

import dev.verbena.FlagSet;
import dev.verbena.NativeFlag;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.SocketAddresses;
import dev.verbena.raw.rdma_addrinfo;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.sockaddr_storage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A result of address resolution: a copy of {@code struct rdma_addrinfo}. {@link AddressQuery}
 * returns it, {@link SynchronousMode#createEndpoint} accepts it.
 */
public final class AddressInfo {
  /** Flags of address resolution: {@code RAI_*}. */
  public enum Flag implements NativeFlag {
    /** The address is for listening: the name is one of this host. */
    PASSIVE(rdma_h.RAI_PASSIVE()),
    /** The name is a numeric address: no name resolution. */
    NUMERICHOST(rdma_h.RAI_NUMERICHOST()),
    /** No route resolution. */
    NOROUTE(rdma_h.RAI_NOROUTE()),
    /** Only addresses of the family in the hints. */
    FAMILY(rdma_h.RAI_FAMILY()),
    /** Resolution of an InfiniBand service by the subnet administrator; rdma-core 60. */
    SA(rdma_h.RAI_SA()),
    /** Resolution by name servers, as without hints; rdma-core 60. */
    DNS(rdma_h.RAI_DNS());

    private final int bit;

    Flag(int bit) {
      this.bit = bit;
    }

    /** {@return the bit of the flag in C, a mask with one bit} */
    @Override
    public long bit() {
      return bit;
    }
  }

  private final int flags;
  private final int family;
  private final int queuePairType;
  private final int portSpace;
  private final byte[] source;
  private final byte[] destination;
  private final String sourceName;
  private final String destinationName;
  private final byte[] route;
  private final byte[] connect;

  private AddressInfo(MemorySegment info) {
    flags = rdma_addrinfo.ai_flags(info);
    family = rdma_addrinfo.ai_family(info);
    queuePairType = rdma_addrinfo.ai_qp_type(info);
    portSpace = rdma_addrinfo.ai_port_space(info);
    source = bytes(rdma_addrinfo.ai_src_addr(info), rdma_addrinfo.ai_src_len(info));
    destination = bytes(rdma_addrinfo.ai_dst_addr(info), rdma_addrinfo.ai_dst_len(info));
    sourceName = Memory.string(rdma_addrinfo.ai_src_canonname(info).address());
    destinationName = Memory.string(rdma_addrinfo.ai_dst_canonname(info).address());
    route = bytes(rdma_addrinfo.ai_route(info), rdma_addrinfo.ai_route_len(info));
    connect = bytes(rdma_addrinfo.ai_connect(info), rdma_addrinfo.ai_connect_len(info));
  }

  private static byte[] bytes(MemorySegment pointer, long length) {
    return pointer.address() == 0
        ? new byte[0]
        : Memory.at(pointer.address(), length).toArray(ValueLayout.JAVA_BYTE);
  }

  /** Copies a list of librdmacm. */
  static List<AddressInfo> copyAll(long list) {
    List<AddressInfo> all = new ArrayList<>();
    for (long at = list; at != 0; ) {
      MemorySegment info = Memory.at(at, rdma_addrinfo.sizeof());
      all.add(new AddressInfo(info));
      at = rdma_addrinfo.ai_next(info).address();
    }
    return List.copyOf(all);
  }

  /** Writes the C struct, without a successor. */
  MemorySegment write(Arena arena) {
    MemorySegment info = rdma_addrinfo.allocate(arena);
    rdma_addrinfo.ai_flags(info, flags);
    rdma_addrinfo.ai_family(info, family);
    rdma_addrinfo.ai_qp_type(info, queuePairType);
    rdma_addrinfo.ai_port_space(info, portSpace);
    rdma_addrinfo.ai_src_addr(info, copy(source, arena));
    rdma_addrinfo.ai_src_len(info, source.length);
    rdma_addrinfo.ai_dst_addr(info, copy(destination, arena));
    rdma_addrinfo.ai_dst_len(info, destination.length);
    rdma_addrinfo.ai_route(info, copy(route, arena));
    rdma_addrinfo.ai_route_len(info, route.length);
    rdma_addrinfo.ai_connect(info, copy(connect, arena));
    rdma_addrinfo.ai_connect_len(info, connect.length);
    return info;
  }

  private static MemorySegment copy(byte[] bytes, Arena arena) {
    if (bytes.length == 0) {
      return MemorySegment.NULL;
    }
    MemorySegment copy = arena.allocate(bytes.length, Long.BYTES);
    copy.copyFrom(MemorySegment.ofArray(bytes));
    return copy;
  }

  private static Optional<InetSocketAddress> address(byte[] sockaddr) {
    if (sockaddr.length == 0) {
      return Optional.empty();
    }
    MemorySegment padded = MemorySegment.ofArray(new long[(int) sockaddr_storage.sizeof() / 8]);
    padded.copyFrom(MemorySegment.ofArray(sockaddr));
    return SocketAddresses.read(padded);
  }

  /** {@return the flags of the result; {@link Flag#PASSIVE} for an address to listen on} */
  public FlagSet<Flag> flags() {
    return FlagSet.of(Flag.class, Integer.toUnsignedLong(flags));
  }

  boolean isPassive() {
    return flags().contains(Flag.PASSIVE);
  }

  /**
   * {@return the address family, in Linux's numbers: 2 for IPv4 ({@code AF_INET}), 10 for IPv6
   * ({@code AF_INET6}), 27 for InfiniBand ({@code AF_IB})}
   */
  public int family() {
    return family;
  }

  /** {@return the port space; empty if librdmacm returned none or an unknown one} */
  public Optional<PortSpace> portSpace() {
    return PortSpace.find(portSpace);
  }

  /**
   * {@return the queue pair type of the service, in C's numbers: the value of {@code IBV_QPT_RC},
   * {@code IBV_QPT_UD} or another constant}
   */
  public int queuePairType() {
    return queuePairType;
  }

  /** {@return the source address, or empty if there is none or it is no IP address} */
  public Optional<InetSocketAddress> source() {
    return address(source);
  }

  /** {@return the destination address, or empty if there is none or it is no IP address} */
  public Optional<InetSocketAddress> destination() {
    return address(destination);
  }

  /**
   * {@return the bytes of the source address as a C struct ({@code sockaddr}), of any family; empty
   * if there is none}
   */
  public byte[] sourceBytes() {
    return source.clone();
  }

  /**
   * {@return the bytes of the destination address as a C struct ({@code sockaddr}), of any family;
   * empty if there is none}
   */
  public byte[] destinationBytes() {
    return destination.clone();
  }

  /** {@return the canonical name of the source, or empty if librdmacm did not resolve it} */
  public Optional<String> sourceName() {
    return Optional.ofNullable(sourceName);
  }

  /** {@return the canonical name of the destination, or empty if librdmacm did not resolve it} */
  public Optional<String> destinationName() {
    return Optional.ofNullable(destinationName);
  }

  /**
   * {@return the {@code struct ibv_path_data}s of the route, for {@link ConnectionOptions#path};
   * empty if there is none}
   */
  public byte[] route() {
    return route.clone();
  }

  /**
   * {@return the bytes that must precede the private data of a connection request; usually empty}
   */
  public byte[] connectData() {
    return connect.clone();
  }

  @Override
  public String toString() {
    return (isPassive() ? "to listen on " : "to connect to ")
        + (isPassive() ? source() : destination()).map(Object::toString).orElse("AF " + family);
  }
}
