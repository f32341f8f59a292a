package dev.verbena.internal.io;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.ErrorConvention;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.NativeFunctions;
import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Downcall;
import dev.verbena.internal.foreign.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A UDP socket of Linux that sends and receives several datagrams in one system call ({@code
 * sendmmsg(2)}, {@code recvmmsg(2)}) and allocates nothing for them.
 *
 * <p>IPv4 datagrams that it sends have the flag "do not fragment" and, since the socket is not
 * connected, the identification 0. IPv6 datagrams longer than the MTU are fragmented. Those without
 * a UDP checksum are received ({@code UDP_NO_CHECK6_RX}), for which the JDK has no option.
 *
 * <p>One thread may send while another receives.
 */
public final class UdpSocket implements AutoCloseable {
  /** A {@code struct mmsghdr}: a {@code struct msghdr} of 56 bytes, then the length. */
  public static final int MESSAGE = 64;

  /** The offset of the length in a {@code struct mmsghdr}. */
  public static final int MESSAGE_LENGTH = 56;

  private static final int SOCK_DGRAM = 2;
  private static final int SOCK_CLOEXEC = 0x80000;
  private static final int MSG_DONTWAIT = 0x40;

  private static final int SOL_SOCKET = 1;
  private static final int SO_REUSEADDR = 2;
  private static final int SO_SNDBUF = 7;
  private static final int SO_RCVBUF = 8;
  private static final int SO_RCVBUFFORCE = 33;

  private static final int IPPROTO_IP = 0;
  private static final int IP_MTU_DISCOVER = 10;
  private static final int IP_MULTICAST_IF = 32;
  private static final int IP_ADD_MEMBERSHIP = 35;
  private static final int IP_PMTUDISC_DO = 2;

  private static final int IPPROTO_UDP = 17;
  private static final int UDP_NO_CHECK6_RX = 102;

  private static final int IPPROTO_IPV6 = 41;
  private static final int IPV6_V6ONLY = 26;

  private static final MemorySegment SENDMMSG = Libc.find("sendmmsg");
  private static final MemorySegment RECVMMSG = Libc.find("recvmmsg");

  private final int descriptor;
  private final MemorySegment sendCapture = Downcall.capture(Arena.ofAuto());

  private UdpSocket(int descriptor) {
    this.descriptor = descriptor;
  }

  /**
   * Opens a socket that is bound to an address.
   *
   * @throws VerbsException EMFILE if this process has no more file descriptors, EADDRINUSE,
   *     EADDRNOTAVAIL or what else {@code bind(2)} reports
   */
  public static UdpSocket open(InetSocketAddress local) {
    return open(local, false);
  }

  /**
   * Opens a socket that is bound to an address.
   *
   * @param shared whether other sockets may be bound to the same address, that of a multicast group
   * @throws VerbsException EMFILE if this process has no more file descriptors, EADDRINUSE,
   *     EADDRNOTAVAIL or what else {@code bind(2)} reports
   */
  public static UdpSocket open(InetSocketAddress local, boolean shared) {
    boolean ipv6 = local.getAddress() instanceof Inet6Address;
    int family = ipv6 ? SocketAddresses.AF_INET6 : SocketAddresses.AF_INET;
    UdpSocket socket = new UdpSocket((int) call("socket", family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    try {
      if (shared) {
        socket.option(SOL_SOCKET, SO_REUSEADDR, 1);
      }
      socket.configure(ipv6, local);
    } catch (RuntimeException e) {
      socket.close();
      throw e;
    }
    return socket;
  }

  private static long call(String function, long... arguments) {
    return NativeFunctions.call(
        Libc.find(function), function, ErrorConvention.MINUS_ONE, arguments);
  }

  private void configure(boolean ipv6, InetSocketAddress local) {
    if (ipv6) {
      option(IPPROTO_IPV6, IPV6_V6ONLY, 1);
      option(IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
    } else {
      option(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = SocketAddresses.write(local, arena);
      long _ = call("bind", descriptor, address.address(), address.byteSize());
    } catch (VerbsException e) {
      throw Explanation.add(e, local.toString());
    }
  }

  /**
   * Asks for buffers of a size. The kernel limits that of receives to {@code net.core.rmem_max},
   * unless the process has the capability {@code CAP_NET_ADMIN}.
   */
  public void bufferSize(int bytes) {
    sendBufferSize(bytes);
    try {
      option(SOL_SOCKET, SO_RCVBUFFORCE, bytes);
    } catch (VerbsException e) {
      if (e.errno() != Errno.EPERM) {
        throw e;
      }
      option(SOL_SOCKET, SO_RCVBUF, bytes);
    }
  }

  /** Asks for a send buffer of a size, which the kernel limits to {@code net.core.wmem_max}. */
  public void sendBufferSize(int bytes) {
    option(SOL_SOCKET, SO_SNDBUF, bytes);
  }

  /** Sends to IPv4 multicast groups through the interface that has an address. */
  public void multicastThrough(InetAddress address) {
    option(IPPROTO_IP, IP_MULTICAST_IF, address.getAddress());
  }

  /**
   * Joins an IPv4 multicast group by the interface that has an address.
   *
   * @throws VerbsException ENODEV if there is no such interface
   */
  public void join(InetAddress group, InetAddress address) {
    byte[] request = new byte[2 * Integer.BYTES];
    System.arraycopy(group.getAddress(), 0, request, 0, Integer.BYTES);
    System.arraycopy(address.getAddress(), 0, request, Integer.BYTES, Integer.BYTES);
    option(IPPROTO_IP, IP_ADD_MEMBERSHIP, request);
  }

  private void option(int level, int option, int value) {
    option(
        level, option, ByteBuffer.allocate(4).order(ByteOrder.nativeOrder()).putInt(value).array());
  }

  private void option(int level, int option, byte[] value) {
    try (Arena arena = Arena.ofConfined()) {
      long address = arena.allocateFrom(JAVA_BYTE, value).address();
      long _ = call("setsockopt", descriptor, level, option, address, value.length);
    } catch (VerbsException e) {
      throw Explanation.add(e, "level " + level + ", option " + option);
    }
  }

  /** Returns the file descriptor. */
  public int descriptor() {
    return descriptor;
  }

  /**
   * Sends datagrams, in order; waits while the socket's buffer is full.
   *
   * @param messages the address of so many {@code struct mmsghdr}
   * @return how many were sent; if the first was not, the negative errno
   */
  public int send(long messages, int count) {
    int sent = (int) Downcall.call(SENDMMSG, sendCapture, descriptor, messages, count, 0, 0, 0);
    return sent < 0 ? -Downcall.errno(sendCapture) : sent;
  }

  /**
   * Receives datagrams that have arrived; does not wait. Does not keep errno: that may allocate,
   * and programs that poll call this often.
   *
   * @param messages the address of so many {@code struct mmsghdr}
   * @return how many were received; negative if none had arrived
   */
  public int receive(long messages, int count) {
    return (int) Call.plain(RECVMMSG, descriptor, messages, count, MSG_DONTWAIT, 0);
  }

  @Override
  public void close() {
    Libc.closeQuietly(descriptor);
  }
}
