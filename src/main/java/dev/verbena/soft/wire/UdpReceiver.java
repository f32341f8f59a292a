package dev.verbena.soft.wire;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.UdpSocket;

/** Receives datagrams, several by one system call, and makes packets of them. */
final class UdpReceiver {
  private static final int FLAGS_AT = 48;
  private static final int MSG_TRUNC = 0x20;
  private static final int MIN_LENGTH = RoceCodec.BTH + Icrc.LENGTH;

  private final int port;
  private final Gids local;
  private final boolean ipv4;
  private final UdpMessages messages;
  private final Icrc icrc = new Icrc();

  UdpReceiver(int port, Gids local) {
    this.port = port;
    this.local = local;
    this.ipv4 = local.isIpv4();
    this.messages = new UdpMessages(ipv4);
  }

  /**
   * Receives what has arrived at a socket.
   *
   * @param destination the GID that the socket is bound to: that of the end, or of a group
   * @return whether anything had arrived
   */
  boolean receive(UdpSocket socket, Gids destination, UdpLink link) {
    int count = socket.receive(messages.message(0), UdpMessages.COUNT);
    for (int i = 0; i < count; i++) {
      Packet packet = link.takePacket();
      if (packet == null) {
        messages.reset(i);
        continue; // As if it were lost on the way.
      }
      packet.destinationGidHigh = destination.high();
      packet.destinationGidLow = destination.low();
      packet.flowLabel = 0;
      packet.trafficClass = 0;
      packet.hopLimit = 0;
      packet.serviceLevel = 0;
      RoceCodec.Result result = read(i, packet);
      messages.reset(i);
      if (result == RoceCodec.Result.PACKET) {
        link.arrived(packet, local);
      } else {
        link.malformed(packet, local);
      }
    }
    return count > 0;
  }

  private RoceCodec.Result read(int i, Packet packet) {
    long message = messages.message(i);
    int length = Memory.getInt(message + UdpSocket.MESSAGE_LENGTH);
    boolean truncated = (Memory.getInt(message + FLAGS_AT) & MSG_TRUNC) != 0;
    if (truncated || length < MIN_LENGTH || length % 4 != 0) {
      return RoceCodec.Result.MALFORMED;
    }
    readAddress(messages.name(i), packet);
    long payload = messages.payload(i);
    int body = length - Icrc.LENGTH;
    int crc = Memory.getInt(payload + body);
    boolean matches = icrc.matches(crc, packet, messages.buffer(i), payload, body);
    RoceCodec.Result result = RoceCodec.read(payload, body, packet);
    packet.corrupt = !matches;
    return result;
  }

  private void readAddress(long name, Packet packet) {
    icrc.ports(Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(name + 2))), port);
    if (ipv4) {
      Gids.setIpv4Source(packet, RoceCodec.getInt(name + 4));
    } else {
      packet.sourceGidHigh = Long.reverseBytes(Memory.getLong(name + 8));
      packet.sourceGidLow = Long.reverseBytes(Memory.getLong(name + 16));
    }
  }
}
