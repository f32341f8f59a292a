package dev.verbena.programs;

import dev.verbena.address.Gid;
import dev.verbena.tools.command.Failure;
import java.nio.ByteBuffer;

/**
 * The address of the port of an alternate path: its LID on InfiniBand, its GID on RoCE.
 *
 * @param lid the LID; 0 if it has none
 * @param gid the GID; zero where LIDs are used
 */
record AlternateAddress(int lid, Gid gid) {
  private static final Gid NO_GID = new Gid(0, 0);

  /**
   * The size of the private data in the C program: four bytes, of which two hold the LID in network
   * order. A GID follows.
   */
  private static final int DATA_SIZE = 4;

  private static final int GID_SIZE = 16;

  static final AlternateAddress NONE = ofLid(0);

  static AlternateAddress ofLid(int lid) {
    return new AlternateAddress(lid, NO_GID);
  }

  boolean isNone() {
    return equals(NONE);
  }

  byte[] privateData() {
    ByteBuffer data = ByteBuffer.allocate(DATA_SIZE + (gid.isZero() ? 0 : GID_SIZE));
    data.putShort(0, (short) lid);
    if (!gid.isZero()) {
      data.put(DATA_SIZE, gid.toBytes());
    }
    return data.array();
  }

  static AlternateAddress of(byte[] privateData) {
    if (privateData.length < DATA_SIZE) {
      throw new Failure("unexpected private data len: " + privateData.length);
    }
    ByteBuffer data = ByteBuffer.wrap(privateData);
    byte[] gid = new byte[GID_SIZE];
    if (privateData.length >= DATA_SIZE + GID_SIZE) {
      data.get(DATA_SIZE, gid);
    }
    return new AlternateAddress(Short.toUnsignedInt(data.getShort(0)), Gid.fromBytes(gid));
  }

  /** The destination, in the words of the C program where there is a LID. */
  @Override
  public String toString() {
    return gid.isZero() ? "dlid: " + lid : "dgid: " + gid;
  }
}
