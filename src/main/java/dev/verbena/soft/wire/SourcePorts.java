package dev.verbena.soft.wire;

import dev.verbena.VerbsException;
import dev.verbena.internal.io.UdpSocket;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * The sockets that the packets of an address are sent by: routers spread packets by their UDP
 * source port, which follows from the flow label. Without a flow label it is the device's own port.
 * These sockets only send.
 */
final class SourcePorts implements AutoCloseable {
  /** How many flow labels get their own source port. */
  private static final int MAX = 64;

  private static final int FLOW_LABEL = 0xfffff;
  private static final int FIRST = 0xc000;
  private static final int RANGE = 0x3fff;

  private final UdpSocket main;
  private final InetSocketAddress local;
  private final int sendBuffer;
  private final List<UdpSocket> opened = new ArrayList<>();
  private final IntMap<UdpSocket> byPort = new IntMap<>();

  /**
   * Creates the source ports of an address.
   *
   * @param main the socket that is bound to it
   * @param sendBuffer the size of the send buffer of the other sockets
   */
  SourcePorts(UdpSocket main, InetSocketAddress local, int sendBuffer) {
    this.main = main;
    this.local = local;
    this.sendBuffer = sendBuffer;
  }

  /** The source port of a flow label, by the rule of the specification. */
  int of(int flowLabel) {
    int label = flowLabel & FLOW_LABEL;
    if (label == 0) {
      return local.getPort();
    }
    int port = FIRST | ((label ^ (label >>> 14)) & RANGE);
    return socket(port).equals(main) ? local.getPort() : port;
  }

  /** The socket with a source port; the main one if the port is in use, or there are too many. */
  UdpSocket socket(int port) {
    if (port == local.getPort()) {
      return main;
    }
    UdpSocket known = byPort.get(port);
    if (known == null) {
      known = opened.size() < MAX ? open(port) : main;
      byPort.put(port, known);
    }
    return known;
  }

  private UdpSocket open(int port) {
    try {
      UdpSocket socket = UdpSocket.open(new InetSocketAddress(local.getAddress(), port));
      opened.add(socket);
      socket.sendBufferSize(sendBuffer);
      if (Gids.of(local.getAddress()).isIpv4()) {
        socket.multicastThrough(local.getAddress());
      }
      return socket;
    } catch (VerbsException e) {
      return main; // Another program has the port: the flow is spread like those without a label.
    }
  }

  @Override
  public void close() {
    opened.forEach(UdpSocket::close);
  }
}
