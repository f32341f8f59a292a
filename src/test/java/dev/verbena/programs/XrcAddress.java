package dev.verbena.programs;

import dev.verbena.address.Gid;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * The address of one end of extended reliable connections (XRC) as ibv_xsrq_pingpong exchanges it:
 * one line of text.
 *
 * @param lid the port's LID
 * @param receiver the queue pair number of the receiving queue pair
 * @param sender the queue pair number of the sending queue pair
 * @param psn the first packet sequence number (PSN) of both
 * @param sharedQueue the number of the shared receive queue
 * @param gid the port's GID
 */
record XrcAddress(int lid, int receiver, int sender, int psn, int sharedQueue, Gid gid) {
  /** The size of the line with the terminating zero. */
  static final int SIZE = 66;

  private static final int PARTS = 6;

  byte[] bytes() {
    String line =
        "%04x:%06x:%06x:%06x:%06x:%s\0"
            .formatted(
                lid, receiver, sender, psn, sharedQueue, HexFormat.of().formatHex(gid.toBytes()));
    return line.getBytes(StandardCharsets.US_ASCII);
  }

  static XrcAddress of(byte[] bytes) throws IOException {
    String line = new String(bytes, StandardCharsets.US_ASCII).trim();
    String[] parts = line.split(":", -1);
    if (parts.length != PARTS) {
      throw new IOException("not the address of extended reliable connections: " + line);
    }
    return new XrcAddress(
        number(parts[0]),
        number(parts[1]),
        number(parts[2]),
        number(parts[3]),
        number(parts[4]),
        Gid.fromBytes(HexFormat.of().parseHex(parts[5])));
  }

  private static int number(String hex) {
    return Integer.parseInt(hex, 16);
  }

  /** Returns the address for the sender of the peer. */
  QueuePairAddress ofReceiver(Mtu mtu) {
    return QueuePairAddress.of(receiver, gid).withPsn(psn).withLid(lid).withMtu(mtu);
  }

  /** Returns the address for the receiver of the peer. */
  QueuePairAddress ofSender(Mtu mtu) {
    return QueuePairAddress.of(sender, gid).withPsn(psn).withLid(lid).withMtu(mtu);
  }

  @Override
  public String toString() {
    return "LID %04x, QPN RECV %06x SEND %06x, PSN %06x, SRQN %06x, GID %s"
        .formatted(lid, receiver, sender, psn, sharedQueue, gid);
  }
}
