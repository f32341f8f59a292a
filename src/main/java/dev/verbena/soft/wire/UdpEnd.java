package dev.verbena.soft.wire;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.io.EventFile;
import dev.verbena.internal.io.UdpSocket;
import dev.verbena.internal.time.Time;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A local address of a link over UDP: its socket, and those of the multicast groups it joined. */
final class UdpEnd implements AutoCloseable {
  /**
   * IPv4 header (20), UDP header (8), BTH, the longest extension headers before a payload, those of
   * DC (44), ICRC. Over IPv6 the few packets that are longer are fragmented.
   */
  private static final int HEADERS = 88;

  private static final int MIN_MTU = 256;
  static final int MAX_MTU = 4096;

  /** Room for the window of a queue pair, counted as the kernel does. */
  private static final int SOCKET_BUFFER = 4 << 20;

  /** How long the addresses of an interface are remembered. */
  private static final long LISTED = TimeUnit.SECONDS.toNanos(1);

  /** The GID of the address. */
  final Gids gid;

  private final InetSocketAddress local;
  private final int mtu;
  private final UdpSocket socket;
  private final SourcePorts sources;
  private final UdpSender sender;
  private final UdpReceiver receiver;
  private final List<UdpGroup> groups = new ArrayList<>();
  private Set<InetAddress> beside = Set.of();
  private long listed;

  /** A group that was joined, and the socket that is bound to it. */
  private record UdpGroup(Gids gid, UdpSocket socket) {}

  private UdpEnd(InetSocketAddress local, int mtu, UdpSocket socket) {
    this.gid = Gids.of(local.getAddress());
    this.local = local;
    this.mtu = mtu;
    this.socket = socket;
    sources = new SourcePorts(socket, local, SOCKET_BUFFER);
    sender = new UdpSender(sources, local.getPort(), gid.isIpv4());
    receiver = new UdpReceiver(local.getPort(), gid);
  }

  /**
   * Opens an end.
   *
   * @throws VerbsException if the socket cannot be bound, with what to do
   */
  static UdpEnd open(InetSocketAddress local) {
    int mtu = pathMtu(local.getAddress());
    UdpSocket socket;
    try {
      socket = UdpSocket.open(local);
    } catch (VerbsException e) {
      throw explained(e, local);
    }
    try {
      socket.bufferSize(SOCKET_BUFFER);
      if (Gids.of(local.getAddress()).isIpv4()) {
        socket.multicastThrough(local.getAddress());
      }
      return new UdpEnd(local, mtu, socket);
    } catch (RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  private static VerbsException explained(VerbsException e, InetSocketAddress local) {
    String why =
        switch (e.errno()) {
          case Errno.EADDRINUSE ->
              "UDP port "
                  + local.getPort()
                  + " of "
                  + local.getAddress().getHostAddress()
                  + " is in use: by another software device, or by the kernel's Soft-RoCE, which "
                  + "takes the port of all addresses of its network namespace from the loading of "
                  + "rdma_rxe on. End the other one, use a network namespace of its own, or set "
                  + "the same other port at both ends";
          case Errno.EADDRNOTAVAIL ->
              local.getAddress().getHostAddress() + " is not an address of this host: see ip addr";
          default -> null;
        };
    return why == null ? e : new VerbsException("bind", e.errno(), why);
  }

  private static int pathMtu(InetAddress address) {
    int bytes;
    try {
      NetworkInterface found = NetworkInterface.getByInetAddress(address);
      // The loopback interface has all of 127.0.0.0/8.
      bytes = found == null ? Integer.MAX_VALUE : found.getMTU();
    } catch (SocketException e) {
      EventFile.open().close(); // Throws if no descriptor is left, which the JDK does not tell.
      throw new VerbsException("ioctl", Errno.EIO, "the MTU of " + address + ": " + e.getMessage());
    }
    if (bytes < MIN_MTU + HEADERS) {
      throw new VerbsException(
          "ioctl",
          Errno.EINVAL,
          "the MTU of the interface of %s is %s; RoCE needs at least %s"
              .formatted(address.getHostAddress(), bytes, MIN_MTU + HEADERS));
    }
    return Integer.highestOneBit(Math.min(bytes - HEADERS, MAX_MTU));
  }

  /** The path MTU that the interface of the address permits. */
  int mtu() {
    return mtu;
  }

  /** Whether the host has a route from the address to another one. */
  boolean reaches(InetAddress peer) {
    return Gids.of(peer).isIpv4() == gid.isIpv4()
        && sourceToward(peer, new InetSocketAddress(local.getAddress(), 0)) != null;
  }

  /** Whether the host sends to an address by the interface that has this one. */
  boolean isNear(InetAddress peer) {
    InetAddress source = sourceToward(peer, null);
    return source != null && beside().contains(source) && reaches(peer);
  }

  /** The addresses of the interface that has this one: to list them takes long. */
  private synchronized Set<InetAddress> beside() {
    if (beside.isEmpty() || Time.now() - listed > LISTED) {
      beside = Set.of(local.getAddress());
      try {
        NetworkInterface found = NetworkInterface.getByInetAddress(local.getAddress());
        beside = found == null ? beside : found.inetAddresses().collect(Collectors.toSet());
      } catch (SocketException e) {
        // The interfaces cannot be listed.
      }
      listed = Time.now();
    }
    return beside;
  }

  /**
   * The address that the host sends from to another one, as its routes are; null if there is none.
   *
   * @param from the address to send from, or null for any
   */
  private static @Nullable InetAddress sourceToward(
      InetAddress peer, @Nullable InetSocketAddress from) {
    try (DatagramSocket socket = from == null ? new DatagramSocket() : new DatagramSocket(from)) {
      socket.connect(new InetSocketAddress(peer, UdpLink.PORT)); // Nothing is sent.
      return socket.getLocalAddress();
    } catch (SocketException e) {
      return null;
    }
  }

  void send(Packet packet) {
    sender.send(packet);
  }

  void flush() {
    sender.flush();
  }

  /** Receives what has arrived; returns whether anything had. */
  boolean receive(UdpLink link) {
    boolean any = receiver.receive(socket, gid, link);
    for (int i = 0; i < groups.size(); i++) {
      any |= receiver.receive(groups.get(i).socket(), groups.get(i).gid(), link);
    }
    return any;
  }

  /** Joins a multicast group; false if packets for it do not leave the network. */
  boolean join(Gids group) {
    if (!group.isIpv4() || !gid.isIpv4()) {
      return false; // rdma_cm has no IPv6 groups over RoCE v2.
    }
    InetAddress address = group.address();
    UdpSocket joined = UdpSocket.open(new InetSocketAddress(address, local.getPort()), true);
    try {
      joined.bufferSize(SOCKET_BUFFER);
      joined.join(address, local.getAddress());
    } catch (RuntimeException e) {
      joined.close();
      throw e;
    }
    groups.add(new UdpGroup(group, joined));
    return true;
  }

  /** Leaves a multicast group. Its socket is closed when nobody waits for it any longer. */
  void leave(Gids group, Runnable waitForOthers) {
    for (UdpGroup member : List.copyOf(groups)) {
      if (member.gid().equals(group)) {
        groups.remove(member);
        waitForOthers.run();
        member.socket().close();
      }
    }
  }

  /** The descriptors that become readable when something arrives. */
  IntStream descriptors() {
    return IntStream.concat(
        IntStream.of(socket.descriptor()),
        groups.stream().mapToInt(group -> group.socket().descriptor()));
  }

  @Override
  public void close() {
    socket.close();
    sources.close();
    groups.forEach(group -> group.socket().close());
  }
}
