package dev.verbena.programs;

import dev.verbena.address.Gid;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import java.nio.ByteBuffer;

/**
 * The record that the two ends of the manual's example exchange: 34 bytes in network order.
 *
 * @param address the address of the buffer
 * @param rkey its remote key
 * @param number the queue pair number (QPN)
 * @param lid the port's LID
 * @param gid the port's GID; zero where none is used
 */
record RcExchange(long address, int rkey, int number, int lid, Gid gid) {
  static final int SIZE = 34;

  byte[] bytes() {
    return ByteBuffer.allocate(SIZE)
        .putLong(address)
        .putInt(rkey)
        .putInt(number)
        .putShort((short) lid)
        .put(gid.toBytes())
        .array();
  }

  static RcExchange of(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    long address = buffer.getLong();
    int rkey = buffer.getInt();
    int number = buffer.getInt();
    int lid = Short.toUnsignedInt(buffer.getShort());
    byte[] gid = new byte[16];
    buffer.get(gid);
    return new RcExchange(address, rkey, number, lid, Gid.fromBytes(gid));
  }

  /**
   * Returns the address of the queue pair, with the values that the example fixes instead of
   * exchanging.
   */
  QueuePairAddress queuePair(Gid local) {
    Gid reachable = gid.isZero() ? new Gid(local.subnetPrefix(), 0) : gid;
    return QueuePairAddress.of(number, reachable).withLid(lid).withMtu(Mtu.MTU_256);
  }
}
