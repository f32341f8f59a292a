package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.SocketAddresses;
import dev.verbena.raw.rdma_addrinfo;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.cm.CmAddress;
import dev.verbena.soft.cm.CmHandle;
import dev.verbena.soft.cm.CmManager;
import dev.verbena.soft.device.CallFailure;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The resolution of names, {@code rdma_getaddrinfo} and its like. */
final class CmNameFunctions {
  private static final Path SERVICES = Path.of("/etc/services");
  private static final int ALL_PORTS = 65_535;

  /** The lists that were not freed yet, by their addresses. */
  private static final Map<Long, Arena> LISTS = new ConcurrentHashMap<>();

  private final CmManager manager;
  private final CmChannelFunctions channels;

  CmNameFunctions(CmManager manager, CmChannelFunctions channels) {
    this.manager = manager;
    this.channels = channels;
  }

  public void rdma_getaddrinfo(long node, long service, long hints, long result) {
    Memory.putLong(result, resolve(node, service, hints));
  }

  public void rdma_freeaddrinfo(long list) {
    free(list);
  }

  static void free(long list) {
    Arena arena = LISTS.remove(list);
    if (arena != null) {
      arena.close();
    }
  }

  /** Resolves to a list of one answer. */
  private static long resolve(long node, long service, long hintsAddress) {
    CallFailure.invalidIf(
        node == 0 && service == 0 && hintsAddress == 0, "neither node nor service nor hints");
    Arena arena = Arena.ofShared();
    try {
      MemorySegment hints =
          hintsAddress == 0
              ? rdma_addrinfo.allocate(arena)
              : Memory.at(hintsAddress, rdma_addrinfo.sizeof());
      CallFailure.unsupportedIf(
          (rdma_addrinfo.ai_flags(hints) & rdma_h.RAI_SA()) != 0,
          "an Ethernet network has no subnet administrator");
      MemorySegment info = rdma_addrinfo.allocate(arena);
      if (node == 0 && service == 0) {
        copyHints(hints, info, arena);
      } else {
        resolve(Memory.string(node), Memory.string(service), hints, info, arena);
      }
      if (rdma_addrinfo.ai_src_len(info) == 0 && rdma_addrinfo.ai_src_len(hints) > 0) {
        MemorySegment source =
            copy(rdma_addrinfo.ai_src_addr(hints), rdma_addrinfo.ai_src_len(hints), arena);
        rdma_addrinfo.ai_src_addr(info, source);
        rdma_addrinfo.ai_src_len(info, (int) source.byteSize());
      }
      LISTS.put(info.address(), arena);
      return info.address();
    } catch (RuntimeException e) {
      arena.close();
      throw e;
    }
  }

  private static void copyHints(MemorySegment hints, MemorySegment info, Arena arena) {
    rdma_addrinfo.ai_flags(info, rdma_addrinfo.ai_flags(hints));
    rdma_addrinfo.ai_family(info, rdma_addrinfo.ai_family(hints));
    rdma_addrinfo.ai_qp_type(info, rdma_addrinfo.ai_qp_type(hints));
    rdma_addrinfo.ai_port_space(info, rdma_addrinfo.ai_port_space(hints));
    if (rdma_addrinfo.ai_dst_len(hints) > 0) {
      MemorySegment destination =
          copy(rdma_addrinfo.ai_dst_addr(hints), rdma_addrinfo.ai_dst_len(hints), arena);
      rdma_addrinfo.ai_dst_addr(info, destination);
      rdma_addrinfo.ai_dst_len(info, (int) destination.byteSize());
    }
  }

  private static MemorySegment copy(MemorySegment from, int length, Arena arena) {
    return arena.allocate(length, Long.BYTES).copyFrom(Memory.at(from.address(), length));
  }

  private static void resolve(
      String node, String service, MemorySegment hints, MemorySegment info, Arena arena) {
    int flags = rdma_addrinfo.ai_flags(hints);
    boolean passive = (flags & rdma_h.RAI_PASSIVE()) != 0;
    boolean datagrams = isOfDatagrams(hints);
    InetAddress address = address(node, passive, flags, rdma_addrinfo.ai_family(hints));
    int port = service == null ? 0 : port(service, datagrams ? "udp" : "tcp");
    MemorySegment sockaddr = SocketAddresses.write(new InetSocketAddress(address, port), arena);
    int type = rdma_addrinfo.ai_qp_type(hints);
    int space = rdma_addrinfo.ai_port_space(hints);
    rdma_addrinfo.ai_family(info, SocketAddresses.family(sockaddr));
    rdma_addrinfo.ai_qp_type(
        info, type != 0 ? type : datagrams ? rdma_h.IBV_QPT_UD() : rdma_h.IBV_QPT_RC());
    rdma_addrinfo.ai_port_space(
        info, space != 0 ? space : datagrams ? rdma_h.RDMA_PS_UDP() : rdma_h.RDMA_PS_TCP());
    if (passive) {
      rdma_addrinfo.ai_flags(info, rdma_h.RAI_PASSIVE());
      rdma_addrinfo.ai_src_addr(info, sockaddr);
      rdma_addrinfo.ai_src_len(info, (int) sockaddr.byteSize());
    } else {
      rdma_addrinfo.ai_dst_addr(info, sockaddr);
      rdma_addrinfo.ai_dst_len(info, (int) sockaddr.byteSize());
    }
  }

  private static boolean isOfDatagrams(MemorySegment hints) {
    int type = rdma_addrinfo.ai_qp_type(hints);
    int space = rdma_addrinfo.ai_port_space(hints);
    return type == rdma_h.IBV_QPT_UD()
        || (type == 0 && (space == rdma_h.RDMA_PS_UDP() || space == rdma_h.RDMA_PS_IPOIB()));
  }

  private static InetAddress address(String node, boolean passive, int flags, int family) {
    try {
      if (node == null) {
        boolean ipv6 = family == SocketAddresses.AF_INET6;
        return passive
            ? CmAddress.wildcard(ipv6 ? 16 : 4)
            : InetAddress.ofLiteral(ipv6 ? "::1" : "127.0.0.1");
      }
      List<InetAddress> all =
          (flags & rdma_h.RAI_NUMERICHOST()) != 0
              ? List.of(InetAddress.ofLiteral(node))
              : Arrays.asList(InetAddress.getAllByName(node));
      return all.stream()
          .filter(address -> isOf(family, address))
          .findFirst()
          .orElseThrow(
              () ->
                  CallFailure.of(
                      Errno.ENOENT, "Address family for hostname not supported (EAI_ADDRFAMILY)"));
    } catch (UnknownHostException | IllegalArgumentException e) {
      throw CallFailure.of(Errno.ENOENT, "Name or service not known (EAI_NONAME)");
    }
  }

  private static boolean isOf(int family, InetAddress address) {
    return family == 0
        || family
            == (address instanceof Inet4Address
                ? SocketAddresses.AF_INET
                : SocketAddresses.AF_INET6);
  }

  private static int port(String service, String protocol) {
    try {
      int port = Integer.parseInt(service);
      if (port >= 0 && port <= ALL_PORTS) {
        return port;
      }
    } catch (NumberFormatException e) {
      return namedPort(service, protocol);
    }
    throw unknownService();
  }

  private static int namedPort(String service, String protocol) {
    Pattern line = Pattern.compile("(\\S+)\\s+(\\d+)/" + protocol + "\\b.*");
    try {
      for (String text : Files.readAllLines(SERVICES)) {
        Matcher matcher = line.matcher(text);
        if (matcher.matches() && service.equals(matcher.group(1))) {
          return Integer.parseInt(matcher.group(2));
        }
      }
    } catch (IOException e) {
      throw unknownService();
    }
    throw unknownService();
  }

  private static VerbsException unknownService() {
    return CallFailure.invalid("Servname not supported for ai_socktype (EAI_SERVICE)");
  }

  // By event

  public void rdma_resolve_addrinfo(long id, long node, long service, long hints) {
    CmHandle handle = manager.handle(id);
    synchronized (handle) {
      if (handle.isResolvingName) {
        throw CallFailure.of(Errno.EBUSY, "a name is being resolved");
      }
      handle.isResolvingName = true;
    }
    try {
      handle.addressInfo = resolve(node, service, hints);
      manager.locked(() -> handle.id.userEvent(rdma_h.RDMA_CM_EVENT_ADDRINFO_RESOLVED(), 0, 0));
      channels.complete(handle);
    } catch (VerbsException e) {
      handle.isResolvingName = false;
      throw e;
    }
  }

  public void rdma_query_addrinfo(long id, long result) {
    CmHandle handle = manager.handle(id);
    synchronized (handle) {
      if (!handle.isResolvingName || handle.addressInfo == 0) {
        throw CallFailure.of(Errno.ENOENT, "nothing was resolved");
      }
      Memory.putLong(result, handle.addressInfo);
      handle.addressInfo = 0;
      handle.isResolvingName = false;
    }
  }
}
