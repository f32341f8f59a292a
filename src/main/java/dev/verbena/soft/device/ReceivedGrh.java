package dev.verbena.soft.device;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.soft.wire.Gids;
import dev.verbena.soft.wire.Packet;

/**
 * The 40 bytes before a received datagram: a global routing header (GRH). As with RoCE v2, that is
 * an IPv6 header, or 20 unused bytes and an IPv4 header with a valid checksum.
 */
public final class ReceivedGrh {
  public static final int SIZE = 40;

  private static final int IPV4 = 20;
  private static final int UDP = 17;

  /** UDP header (8), BTH (12), DETH (8) and ICRC (4). */
  private static final int OVERHEAD = 32;

  private ReceivedGrh() {}

  /** Writes the header of a packet to 40 bytes. Nothing is allocated. */
  public static void write(Packet packet, long address) {
    if (Gids.isIpv4(packet.destinationGidHigh, packet.destinationGidLow)) {
      for (int i = 0; i < SIZE; i += Long.BYTES) {
        Memory.putLong(address + i, 0);
      }
      writeIpv4(packet, address + SIZE - IPV4);
    } else {
      putInt(address, 6 << 28 | packet.trafficClass << 20 | (packet.flowLabel & 0xfffff));
      putInt(address + 4, (packet.length + OVERHEAD) << 16 | UDP << 8 | (packet.hopLimit & 0xff));
      Memory.putLong(address + 8, Long.reverseBytes(packet.sourceGidHigh));
      Memory.putLong(address + 16, Long.reverseBytes(packet.sourceGidLow));
      Memory.putLong(address + 24, Long.reverseBytes(packet.destinationGidHigh));
      Memory.putLong(address + 32, Long.reverseBytes(packet.destinationGidLow));
    }
  }

  private static void writeIpv4(Packet packet, long address) {
    int total = IPV4 + OVERHEAD + packet.length;
    putInt(address, 0x45 << 24 | (packet.trafficClass & 0xff) << 16 | total);
    putInt(address + 4, 0x4000); // Identification 0, do not fragment.
    int lifetime = packet.hopLimit == 0 ? 64 : packet.hopLimit;
    putInt(address + 8, (lifetime & 0xff) << 24 | UDP << 16);
    putInt(address + 12, (int) packet.sourceGidLow);
    putInt(address + 16, (int) packet.destinationGidLow);
    int sum = 0;
    for (int i = 0; i < IPV4; i += 2) {
      sum += Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(address + i)));
    }
    while (sum >>> 16 != 0) {
      sum = (sum & 0xffff) + (sum >>> 16);
    }
    Memory.putShort(address + 10, Short.reverseBytes((short) ~sum));
  }

  private static void putInt(long address, int value) {
    Memory.putInt(address, Integer.reverseBytes(value));
  }
}
