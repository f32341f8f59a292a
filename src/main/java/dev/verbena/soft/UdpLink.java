package dev.verbena.soft;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Alarm;
import dev.verbena.internal.Memory;
import dev.verbena.internal.UdpSocket;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The link of a network with one device to an IP network: RoCE v2, packets in UDP datagrams. */
final class UdpLink implements Link {
  /** The UDP port of RoCE v2. */
  static final int PORT = 4791;

  /** IP header (40), UDP header (8), BTH and the longest extension headers, ICRC, as in rxe. */
  private static final int HEADERS = 80;

  private static final int MIN_MTU = 256;
  private static final int MAX_MTU = 4096;

  /** Room for the window of a queue pair, counted as the kernel does. */
  private static final int SOCKET_BUFFER = 4 << 20;

  final InetAddress address;
  private final Gids own;
  private final int mtu;
  private final UdpSocket socket;
  private final int port;
  private final Alarm alarm = new Alarm();
  private final UdpSender sender;
  private final UdpReceiver receiver;
  private final List<UdpGroup> groups = new ArrayList<>();
  private SoftNetwork network;
  private boolean closed;

  private UdpLink(InetSocketAddress local, int mtu, UdpSocket socket) {
    this.address = local.getAddress();
    this.own = Gids.of(address);
    this.port = local.getPort();
    this.mtu = mtu;
    this.socket = socket;
    sender = new UdpSender(socket, port, own.isIpv4());
    receiver = new UdpReceiver(port, own.isIpv4());
    alarm.descriptors(socket.descriptor());
  }

  /**
   * Opens a link.
   *
   * @throws VerbsException if the socket cannot be bound, with what to do
   */
  static UdpLink open(InetSocketAddress local) {
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
      return new UdpLink(local, mtu, socket);
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
          default -> local.toString();
        };
    return new VerbsException("bind", e.errno(), why);
  }

  private static int pathMtu(InetAddress address) {
    int bytes;
    try {
      NetworkInterface found = NetworkInterface.getByInetAddress(address);
      // The loopback interface has all of 127.0.0.0/8.
      bytes = found == null ? Integer.MAX_VALUE : found.getMTU();
    } catch (SocketException e) {
      throw new VerbsException("ioctl", Errno.EIO, "the MTU of " + address + ": " + e.getMessage());
    }
    if (bytes < MIN_MTU + HEADERS) {
      throw new VerbsException(
          "ioctl",
          Errno.EINVAL,
          "the MTU of the interface of "
              + address.getHostAddress()
              + " is "
              + bytes
              + "; RoCE needs at least "
              + (MIN_MTU + HEADERS));
    }
    return Integer.highestOneBit(Math.min(bytes - HEADERS, MAX_MTU));
  }

  /** Delivers packets to a network from now on. */
  void connect(SoftNetwork to) {
    network = to;
  }

  @Override
  public int mtu() {
    return mtu;
  }

  /** All addresses of the family, unless they are those of other interfaces of this host. */
  @Override
  public boolean reaches(InetAddress peer) {
    try {
      return Gids.of(peer).isIpv4() == own.isIpv4()
          && NetworkInterface.getByInetAddress(peer) == null;
    } catch (SocketException e) {
      return true; // The interfaces cannot be listed.
    }
  }

  @Override
  public void send(Packet packet) {
    if (!closed) {
      sender.send(packet);
    }
  }

  @Override
  public void flush() {
    if (!closed) {
      sender.flush();
    }
  }

  @Override
  public boolean receive() {
    boolean any = receiver.receive(socket, own, this);
    for (UdpGroup group : groups) {
      any |= receiver.receive(group.socket(), group.gid(), this);
    }
    return any;
  }

  /** A packet arrived, which belongs to the network from now on. */
  void arrived(Packet packet) {
    boolean isEcho =
        packet.sourceGidLow == own.low()
            && packet.sourceGidHigh == own.high()
            && packet.destination == Psn.MASK;
    if (isEcho) {
      network.engine.packets.release(packet); // Its members have it.
    } else {
      network.arrived(packet);
    }
  }

  Packet takePacket() {
    return network.engine.packets.take();
  }

  /** Something arrived that is no packet, which is dropped. */
  void dropped(Packet packet) {
    network.engine.packets.release(packet);
    network.devices().forEach(device -> device.counters.malformedPackets++);
  }

  @Override
  public void sleep(long nanos) {
    alarm.await(nanos);
  }

  @Override
  public void wake(Thread thread) {
    alarm.ring();
  }

  // Multicast

  /** A group that was joined, and the socket that is bound to it. */
  private record UdpGroup(Gids gid, UdpSocket socket) {}

  @Override
  public void join(Gids group) {
    if (!group.isIpv4() || !own.isIpv4()) {
      return; // rdma_cm has no IPv6 groups over RoCE v2.
    }
    UdpSocket joined = UdpSocket.open(new InetSocketAddress(CmAddress.of(group), port), true);
    try {
      joined.bufferSize(SOCKET_BUFFER);
      joined.join(CmAddress.of(group), address);
    } catch (RuntimeException e) {
      joined.close();
      throw e;
    }
    groups.add(new UdpGroup(group, joined));
    updateDescriptors();
  }

  @Override
  public void leave(Gids group) {
    for (UdpGroup member : List.copyOf(groups)) {
      if (member.gid().equals(group)) {
        groups.remove(member);
        updateDescriptors();
        member.socket().close();
      }
    }
  }

  private void updateDescriptors() {
    int[] descriptors = new int[1 + groups.size()];
    descriptors[0] = socket.descriptor();
    for (int i = 0; i < groups.size(); i++) {
      descriptors[i + 1] = groups.get(i).socket().descriptor();
    }
    alarm.descriptors(descriptors);
    alarm.ring();
  }

  @Override
  public void close() {
    closed = true;
    socket.close();
    groups.forEach(group -> group.socket().close());
    alarm.close();
  }

  @Override
  public String toString() {
    return address.getHostAddress() + ":" + port;
  }

  /** The memory of datagrams and of what {@code sendmmsg} and {@code recvmmsg} need for them. */
  static final class Messages {
    /** How many datagrams a system call sends or receives. */
    static final int COUNT = 64;

    /** The longest datagram that is a packet, and a byte more than that. */
    static final int CAPACITY = (MAX_MTU + RoceCodec.MAX_OVERHEAD + Icrc.LENGTH + 64) & -64;

    private static final int NAME = 32;
    private static final int CONTROL = 64;
    private static final int VECTOR = 16;

    private static final int NAME_LENGTH_AT = 8;
    private static final int VECTORS_AT = 16;
    private static final int VECTOR_COUNT_AT = 24;
    private static final int CONTROL_AT = 32;

    private final MemorySegment memory =
        Arena.ofAuto()
            .allocate((long) COUNT * (UdpSocket.MESSAGE + NAME + CONTROL + VECTOR + CAPACITY), 64);
    private final long messages = memory.address();
    private final long names = messages + (long) COUNT * UdpSocket.MESSAGE;
    private final long controls = names + (long) COUNT * NAME;
    private final long vectors = controls + (long) COUNT * CONTROL;
    private final long payloads = vectors + (long) COUNT * VECTOR;
    private final ByteBuffer[] buffers = new ByteBuffer[COUNT];
    private final int nameLength;

    Messages(boolean ipv4) {
      nameLength = ipv4 ? 16 : 28;
      for (int i = 0; i < COUNT; i++) {
        Memory.putLong(message(i), name(i));
        Memory.putLong(message(i) + VECTORS_AT, vector(i));
        Memory.putLong(message(i) + VECTOR_COUNT_AT, 1);
        Memory.putLong(message(i) + CONTROL_AT, control(i));
        Memory.putLong(vector(i), payload(i));
        reset(i);
        buffers[i] = memory.asSlice(payload(i) - messages, CAPACITY).asByteBuffer();
      }
    }

    /** Makes all of it available for a datagram that is received. */
    final void reset(int i) {
      Memory.putInt(message(i) + NAME_LENGTH_AT, nameLength);
      length(i, CAPACITY);
    }

    final long message(int i) {
      return messages + (long) i * UdpSocket.MESSAGE;
    }

    final long name(int i) {
      return names + (long) i * NAME;
    }

    final long control(int i) {
      return controls + (long) i * CONTROL;
    }

    private long vector(int i) {
      return vectors + (long) i * VECTOR;
    }

    final long payload(int i) {
      return payloads + (long) i * CAPACITY;
    }

    final ByteBuffer buffer(int i) {
      return buffers[i];
    }

    final void length(int i, int length) {
      Memory.putLong(vector(i) + 8, length);
    }
  }
}
