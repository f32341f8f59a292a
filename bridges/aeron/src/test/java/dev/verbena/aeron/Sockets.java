package dev.verbena.aeron;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.Random;
import org.agrona.concurrent.CachedNanoClock;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersManager;
import org.agrona.concurrent.status.CountersReader;

/** Sockets without a driver, whose time is what the test says, and which share their counters. */
final class Sockets {
  final CachedNanoClock clock = new CachedNanoClock();
  final TransportCounters counters =
      new TransportCounters(
          new CountersManager(
              new UnsafeBuffer(ByteBuffer.allocateDirect(16 * CountersReader.METADATA_LENGTH)),
              new UnsafeBuffer(ByteBuffer.allocateDirect(16 * CountersReader.COUNTER_LENGTH))),
          "test");

  private final Side side;

  Sockets() {
    this("");
  }

  Sockets(String rules) {
    side = new Side(null, clock, counters, Rules.of(rules), 64, new Random(1));
  }

  RdmaChannel open(String address) throws IOException {
    return open(address, 0);
  }

  /** Opens a socket that is one of a group. */
  RdmaChannel open(String address, InetSocketAddress group, boolean isMember) throws IOException {
    DatagramChannel socket = DatagramChannel.open(StandardProtocolFamily.INET);
    socket.bind(new InetSocketAddress(Hosts.address(address), 0));
    socket.setOption(
        StandardSocketOptions.IP_MULTICAST_IF,
        NetworkInterface.getByInetAddress(Hosts.address(Hosts.A)));
    socket.configureBlocking(false);
    Group of = new Group(group, Hosts.address(address), isMember);
    return new RdmaChannel(socket, socket, of, side);
  }

  RdmaChannel open(String address, int port) throws IOException {
    DatagramChannel socket = DatagramChannel.open();
    socket.bind(new InetSocketAddress(Hosts.address(address), port));
    socket.configureBlocking(false);
    return new RdmaChannel(socket, socket, null, side);
  }

  static InetSocketAddress address(DatagramChannel socket) throws IOException {
    return (InetSocketAddress) socket.getLocalAddress();
  }

  void pass(long milliseconds) {
    clock.update(clock.nanoTime() + milliseconds * 1_000_000);
  }
}
