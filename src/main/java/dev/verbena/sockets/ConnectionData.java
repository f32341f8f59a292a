package dev.verbena.sockets;

import dev.verbena.verbs.RemoteMemory;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The private data by which both ends of an rsocket connection tell their sizes and memory: {@code
 * struct rs_conn_data} of librdmacm.
 *
 * @param isBigEndian whether the sender is a big-endian host
 * @param credits the number of messages that the sender can receive
 * @param areas the number of entries of the sender's table of mapped areas
 * @param table the sender's table of {@value #SGES} SGEs, which the receiver writes to, and its
 *     table of mapped areas behind it; its length is the number of SGEs
 * @param buffer what the sender has granted of its receive buffer
 */
record ConnectionData(
    boolean isBigEndian, int credits, int areas, RemoteMemory table, RemoteMemory buffer) {
  /** The bytes of the private data. */
  static final int SIZE = 40;

  /** The SGEs of the table. */
  static final int SGES = 2;

  /** The bytes of an SGE: an address, a remote key, and a length. */
  static final int SGE_SIZE = 16;

  private static final byte VERSION = 1;
  private static final int BIG_ENDIAN = 1;
  private static final int AREAS = 1 << 1;
  private static final int RESERVED = 3;

  /** The number of areas has 8 bits: from this bit on, the others are a multiple of 256. */
  private static final int SCALED = 1 << 7;

  /** Memory of an end that the other end may write to. */
  record RemoteMemory(long address, int key, int length) {
    private static RemoteMemory read(ByteBuffer data) {
      return new RemoteMemory(data.getLong(), data.getInt(), data.getInt());
    }

    private void write(ByteBuffer data) {
      data.putLong(address).putInt(key).putInt(length);
    }
  }

  /** Returns the nearest number of areas that the private data can express. */
  static int expressible(int areas) {
    return unscaled(scaled(areas));
  }

  private static int scaled(int areas) {
    return areas <= SCALED ? areas : SCALED | (areas >> Byte.SIZE);
  }

  private static int unscaled(int value) {
    return value <= SCALED ? value : (value & ~SCALED) << Byte.SIZE;
  }

  byte[] toBytes() {
    ByteBuffer data = ByteBuffer.allocate(SIZE);
    data.put(VERSION).put((byte) (AREAS | (isBigEndian ? BIG_ENDIAN : 0)));
    data.putShort((short) credits).put(new byte[RESERVED]).put((byte) scaled(areas));
    table.write(data);
    buffer.write(data);
    return data.array();
  }

  /**
   * Reads the private data of a peer. The transport may have appended zeros.
   *
   * @throws ProtocolException if the peer is no rsocket of version 1
   */
  static ConnectionData read(byte[] privateData) throws ProtocolException {
    if (privateData.length < SIZE) {
      throw new ProtocolException(
          "the peer is no rsocket: its private data has %d bytes, that of rsockets %d"
              .formatted(privateData.length, SIZE));
    }
    ByteBuffer data = ByteBuffer.wrap(privateData);
    byte version = data.get();
    if (version != VERSION) {
      throw new ProtocolException(
          "the peer is no rsocket of version 1: its private data has the version " + version);
    }
    int flags = data.get();
    int credits = Short.toUnsignedInt(data.getShort());
    data.position(data.position() + RESERVED);
    int areas = (flags & AREAS) == 0 ? 0 : unscaled(Byte.toUnsignedInt(data.get(data.position())));
    data.position(data.position() + 1);
    RemoteMemory table = RemoteMemory.read(data);
    if (table.length < 1) {
      throw new ProtocolException("the peer's table of SGEs has the length " + table.length);
    }
    return new ConnectionData(
        (flags & BIG_ENDIAN) != 0, credits, areas, table, RemoteMemory.read(data));
  }

  /** Writes an SGE for the sender of this, in its byte order. */
  void putSge(ByteBuffer target, int at, long address, int key, int length) {
    target
        .putLong(at, swapped(address))
        .putInt(at + Long.BYTES, swapped(key))
        .putInt(at + Long.BYTES + Integer.BYTES, swapped(length));
  }

  /** Writes an entry of the sender's table of mapped areas, in its byte order. */
  void putArea(ByteBuffer target, int at, long offset, long address, int key, int length) {
    target.putLong(at, swapped(offset));
    putSge(target, at + Long.BYTES, address, key, length);
  }

  private long swapped(long value) {
    return isOfOtherByteOrder() ? Long.reverseBytes(value) : value;
  }

  private int swapped(int value) {
    return isOfOtherByteOrder() ? Integer.reverseBytes(value) : value;
  }

  /** Returns whether the hosts differ in byte order: then an end writes in that of the other. */
  boolean isOfOtherByteOrder() {
    return isBigEndian != (ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN);
  }
}
