package dev.verbena.s3;

import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import java.util.HexFormat;

/** The text of {@code x-amz-rdma-token}: what a server needs to access memory of this process. */
final class Token {
  private Token() {}

  /**
   * Returns the 81 characters for a DC target.
   *
   * @param address the first byte of the transfer
   * @param size the number of bytes, less than 4 GiB
   * @param rkey the remote key of the region
   */
  static String of(QueuePairAddress target, long address, long size, int rkey) {
    Gid gid = target.gid();
    return "%016x:%08x:%08x:%04x:%06x:%d:%s"
        .formatted(
            address,
            size,
            rkey,
            target.lid(),
            target.number(),
            gid.isZero() ? 0 : 1,
            HexFormat.of().formatHex(gid.toBytes()));
  }

  /** Returns the text for a connection of the test server's own protocol. */
  static String of(String connection, long address, long size, int rkey) {
    return "rc:%s:%016x:%08x:%08x".formatted(connection, address, size, rkey);
  }
}
