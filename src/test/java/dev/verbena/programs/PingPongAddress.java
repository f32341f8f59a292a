package dev.verbena.programs;

import dev.verbena.address.Gid;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** The address of a queue pair as rdma-core's pingpong programs exchange it: one line of text. */
public final class PingPongAddress {
  /** The line for no queue pair, with the terminating zero. */
  static final byte[] NOTHING =
      "0000:000000:000000:00000000000000000000000000000000\0".getBytes(StandardCharsets.US_ASCII);

  public static final int SIZE = NOTHING.length;

  private PingPongAddress() {}

  static byte[] bytes(QueuePairAddress address) {
    String line =
        "%04x:%06x:%06x:%s\0"
            .formatted(
                address.lid(),
                address.number(),
                address.psn(),
                HexFormat.of().formatHex(address.gid().toBytes()));
    return line.getBytes(StandardCharsets.US_ASCII);
  }

  /** Parses a line; parameters that it does not contain are given by the options of both ends. */
  static QueuePairAddress of(byte[] bytes, Mtu mtu, Gid local) throws IOException {
    String line = new String(bytes, StandardCharsets.US_ASCII).trim();
    String[] parts = line.split(":", -1);
    if (parts.length != 4) {
      throw new IOException("not the address of a queue pair: " + line);
    }
    Gid gid = Gid.fromBytes(HexFormat.of().parseHex(parts[3]));
    return QueuePairAddress.of(
            Integer.parseInt(parts[1], 16), gid.isZero() ? new Gid(local.subnetPrefix(), 0) : gid)
        .withPsn(Integer.parseInt(parts[2], 16))
        .withLid(Integer.parseInt(parts[0], 16))
        .withMtu(mtu);
  }

  static String describe(QueuePairAddress address) {
    return "LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s"
        .formatted(address.lid(), address.number(), address.psn(), address.gid());
  }
}
