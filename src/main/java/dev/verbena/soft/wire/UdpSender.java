package dev.verbena.soft.wire;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.SocketAddresses;
import dev.verbena.internal.io.UdpSocket;

/** Sends packets as datagrams, several by one system call. Used under the network's lock. */
final class UdpSender {
  private static final System.Logger LOGGER = System.getLogger(UdpSender.class.getName());

  private static final int CONTROL_LENGTH_AT = 40;
  private static final int CONTROL_MESSAGE = 24;
  private static final int CONTROL_HEADER = 16;

  private static final int IPPROTO_IP = 0;
  private static final int IP_TOS = 1;
  private static final int IP_TTL = 2;
  private static final int IPPROTO_IPV6 = 41;
  private static final int IPV6_HOPLIMIT = 52;
  private static final int IPV6_TCLASS = 67;

  private static final int DEFAULT_HOP_LIMIT = 64;

  private final SourcePorts sources;
  private final int port;
  private final boolean ipv4;
  private final UdpMessages messages;
  private final Icrc icrc = new Icrc();
  private int pending;

  /** The source port of the packets that are pending. */
  private int source;

  private int reported;

  UdpSender(SourcePorts sources, int port, boolean ipv4) {
    this.sources = sources;
    this.port = port;
    this.ipv4 = ipv4;
    this.messages = new UdpMessages(ipv4);
    from(sources.of(0));
    for (int i = 0; i < UdpMessages.COUNT; i++) {
      long name = messages.name(i);
      Memory.putShort(name, (short) (ipv4 ? SocketAddresses.AF_INET : SocketAddresses.AF_INET6));
      Memory.putShort(name + 2, Short.reverseBytes((short) port));
    }
  }

  /** Adds a packet, which is sent by {@link #flush} at the latest. */
  void send(Packet packet) {
    if (Gids.isIpv4(packet.destinationGidHigh, packet.destinationGidLow) != ipv4
        || RoceCodec.length(packet) + Icrc.LENGTH > UdpMessages.CAPACITY) {
      return; // As a packet that is lost.
    }
    int sourceOfFlow = sources.of(packet.flowLabel);
    if (pending == UdpMessages.COUNT || source != sourceOfFlow) {
      flush();
      from(sourceOfFlow);
    }
    int i = pending++;
    long payload = messages.payload(i);
    int length = RoceCodec.write(packet, payload);
    int crc = icrc.compute(packet, messages.buffer(i), payload, length);
    Memory.putInt(payload + length, packet.corrupt ? ~crc : crc);
    messages.length(i, length + Icrc.LENGTH);
    putAddress(messages.name(i), packet);
    putControl(i, packet);
  }

  private void from(int newSource) {
    source = newSource;
    icrc.ports(source, port);
  }

  private void putAddress(long name, Packet packet) {
    if (ipv4) {
      RoceCodec.putInt(name + 4, (int) packet.destinationGidLow);
    } else {
      Memory.putLong(name + 8, Long.reverseBytes(packet.destinationGidHigh));
      Memory.putLong(name + 16, Long.reverseBytes(packet.destinationGidLow));
    }
  }

  /** Traffic class (DSCP and ECN) and hop limit, unless they are those of the socket. */
  private void putControl(int i, Packet packet) {
    int hopLimit = packet.hopLimit & 0xff;
    boolean ordinary = packet.trafficClass == 0 && (hopLimit == 0 || hopLimit == DEFAULT_HOP_LIMIT);
    Memory.putLong(messages.message(i) + CONTROL_LENGTH_AT, ordinary ? 0 : 2 * CONTROL_MESSAGE);
    if (!ordinary) {
      int level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
      long control = messages.control(i);
      putControl(control, level, ipv4 ? IP_TOS : IPV6_TCLASS, packet.trafficClass & 0xff);
      putControl(
          control + CONTROL_MESSAGE,
          level,
          ipv4 ? IP_TTL : IPV6_HOPLIMIT,
          hopLimit == 0 ? DEFAULT_HOP_LIMIT : hopLimit);
    }
  }

  private static void putControl(long address, int level, int type, int value) {
    Memory.putLong(address, CONTROL_HEADER + Integer.BYTES);
    Memory.putInt(address + 8, level);
    Memory.putInt(address + 12, type);
    Memory.putInt(address + CONTROL_HEADER, value);
  }

  /** Sends the packets that were added. */
  void flush() {
    UdpSocket socket = sources.socket(source);
    int done = 0;
    while (done < pending) {
      int sent = socket.send(messages.message(done), pending - done);
      if (sent > 0) {
        done += sent;
      } else if (sent != -Errno.EINTR) {
        report(-sent);
        done++; // As a packet that is lost.
      }
    }
    pending = 0;
  }

  /** Logs an error, unless it is the same as the one before. */
  private void report(int errno) {
    if (errno != reported) {
      reported = errno;
      LOGGER.log(
          System.Logger.Level.WARNING,
          "packets of the software device are lost: {0}",
          new VerbsException("sendmmsg", errno).getMessage());
    }
  }
}
