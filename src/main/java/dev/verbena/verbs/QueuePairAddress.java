package dev.verbena.verbs;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The address of a queue pair: all that a remote queue pair needs to connect to it, or to send
 * datagrams to it.
 *
 * <p>{@link QueuePair#localAddress} returns it. The application sends it to the other side, over
 * TCP for example, as {@linkplain #toBytes bytes} or as {@linkplain #toString text}.
 */
public final class QueuePairAddress {
  /** The length of {@link #toBytes} in bytes. */
  public static final int SIZE = 32;

  private static final Set<String> KEYS =
      Set.of("qpn", "psn", "lid", "gid", "mtu", "reads", "qkey");

  private final int number;
  private final int psn;
  private final int lid;
  private final Gid gid;
  private final Mtu mtu;
  private final int reads;
  private final int queueKey;

  private QueuePairAddress(
      int number, int psn, int lid, Gid gid, Mtu mtu, int reads, int queueKey) {
    this.number = Ranges.bits(number, 24, "a QPN");
    this.psn = Ranges.bits(psn, 24, "a PSN");
    this.lid = Ranges.bits(lid, Short.SIZE, "a LID");
    this.gid = Objects.requireNonNull(gid, "gid");
    this.mtu = Objects.requireNonNull(mtu, "mtu");
    this.reads = Ranges.bits(reads, Byte.SIZE, "a number of RDMA reads");
    this.queueKey = queueKey;
  }

  /**
   * Returns an address with PSN 0, LID 0, an MTU of 1024 bytes, one RDMA read and Q_Key 0.
   *
   * @param number the queue pair number
   * @param gid the GID of the port
   * @return the address
   */
  public static QueuePairAddress of(int number, Gid gid) {
    return new QueuePairAddress(number, 0, 0, gid, Mtu.MTU_1024, 1, 0);
  }

  /**
   * Returns this address with another PSN.
   *
   * @param first the packet sequence number of the first packet that the queue pair sends
   * @return the address
   */
  public QueuePairAddress withPsn(int first) {
    return new QueuePairAddress(number, first, lid, gid, mtu, reads, queueKey);
  }

  /**
   * Returns this address with another LID.
   *
   * @param local the LID of the port; 0 on Ethernet
   * @return the address
   */
  public QueuePairAddress withLid(int local) {
    return new QueuePairAddress(number, psn, local, gid, mtu, reads, queueKey);
  }

  /**
   * Returns this address with another MTU.
   *
   * @param limit the largest MTU that the queue pair supports
   * @return the address
   */
  public QueuePairAddress withMtu(Mtu limit) {
    return new QueuePairAddress(number, psn, lid, gid, limit, reads, queueKey);
  }

  /**
   * Returns this address with another number of RDMA reads.
   *
   * @param limit the maximum number of outstanding RDMA reads and atomics as the target
   * @return the address
   */
  public QueuePairAddress withReads(int limit) {
    return new QueuePairAddress(number, psn, lid, gid, mtu, limit, queueKey);
  }

  /**
   * Returns this address with another Q_Key.
   *
   * @param key the Q_Key that datagrams must carry; 0 for connected queue pairs
   * @return the address
   */
  public QueuePairAddress withQueueKey(int key) {
    return new QueuePairAddress(number, psn, lid, gid, mtu, reads, key);
  }

  /**
   * Returns the queue pair number (QPN).
   *
   * @return 24 bits
   */
  public int number() {
    return number;
  }

  /**
   * Returns the packet sequence number of the first packet that the queue pair sends.
   *
   * @return 24 bits
   */
  public int psn() {
    return psn;
  }

  /**
   * Returns the LID of the port.
   *
   * @return 16 bits; 0 on Ethernet
   */
  public int lid() {
    return lid;
  }

  /**
   * Returns the GID of the port.
   *
   * @return the GID
   */
  public Gid gid() {
    return gid;
  }

  /**
   * Returns the largest MTU that the queue pair supports.
   *
   * @return the MTU
   */
  public Mtu mtu() {
    return mtu;
  }

  /**
   * Returns the maximum number of outstanding RDMA reads and atomics as the target.
   *
   * @return 0 to 255
   */
  public int reads() {
    return reads;
  }

  /**
   * Returns the Q_Key that datagrams must carry.
   *
   * @return the Q_Key; 0 for connected queue pairs
   */
  public int queueKey() {
    return queueKey;
  }

  /**
   * Returns this address as bytes, in a format that does not depend on the machine.
   *
   * @return {@value #SIZE} bytes: QPN, PSN and Q_Key of 4 bytes each, LID of 2, MTU code and number
   *     of RDMA reads of 1 each, all in network byte order, then the GID
   */
  public byte[] toBytes() {
    return ByteBuffer.allocate(SIZE)
        .putInt(number)
        .putInt(psn)
        .putInt(queueKey)
        .putShort((short) lid)
        .put((byte) mtu.code())
        .put((byte) reads)
        .put(gid.toBytes())
        .array();
  }

  /**
   * Returns the address that {@link #toBytes} converted.
   *
   * @param bytes {@value #SIZE} bytes
   * @return the address
   * @throws IllegalArgumentException if the bytes are not an address
   */
  public static QueuePairAddress fromBytes(byte[] bytes) {
    if (bytes.length != SIZE) {
      throw new IllegalArgumentException(
          "address of a queue pair must have " + SIZE + " bytes: " + bytes.length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    int number = buffer.getInt();
    int psn = buffer.getInt();
    int queueKey = buffer.getInt();
    int lid = Short.toUnsignedInt(buffer.getShort());
    int mtu = buffer.get();
    int reads = Byte.toUnsignedInt(buffer.get());
    byte[] gid = new byte[Gid.SIZE];
    buffer.get(gid);
    return new QueuePairAddress(number, psn, lid, Gid.fromBytes(gid), mtuOf(mtu), reads, queueKey);
  }

  private static Mtu mtuOf(int code) {
    return Arrays.stream(Mtu.values())
        .filter(mtu -> mtu.code() == code)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("unknown MTU code: " + code));
  }

  /**
   * Returns the address that {@link #toString} converted.
   *
   * @param text such as {@code qpn=0x11,psn=0x5e1f2a,lid=0,gid=::ffff:10.9.0.1,mtu=1024,reads=16,
   *     qkey=0x0}, in any order
   * @return the address
   * @throws IllegalArgumentException if a part is missing, unknown, repeated or not a number
   */
  public static QueuePairAddress parse(String text) {
    Map<String, String> values = new HashMap<>();
    for (String part : text.strip().split(",", -1)) {
      String[] pair = part.strip().split("=", 2);
      if (pair.length != 2 || !KEYS.contains(pair[0]) || values.put(pair[0], pair[1]) != null) {
        throw new IllegalArgumentException(
            "unknown or repeated part of a queue pair address: " + part);
      }
    }
    if (values.size() != KEYS.size()) {
      throw new IllegalArgumentException(
          "queue pair address must have the parts " + KEYS + ": " + text);
    }
    return new QueuePairAddress(
        number(values, "qpn"),
        number(values, "psn"),
        number(values, "lid"),
        Gid.parse(values.get("gid")),
        Mtu.ofBytes(number(values, "mtu")),
        number(values, "reads"),
        number(values, "qkey"));
  }

  private static int number(Map<String, String> values, String key) {
    long number = Long.decode(values.get(key));
    if (number < 0 || number >>> Integer.SIZE != 0) {
      throw new IllegalArgumentException(key + " is out of range: " + values.get(key));
    }
    return (int) number;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof QueuePairAddress that
        && that.number == number
        && that.psn == psn
        && that.lid == lid
        && that.gid.equals(gid)
        && that.mtu == mtu
        && that.reads == reads
        && that.queueKey == queueKey;
  }

  @Override
  public int hashCode() {
    return Objects.hash(number, psn, lid, gid, mtu, reads, queueKey);
  }

  /** Returns this address as one line of text that {@link #parse} reads. */
  @Override
  public String toString() {
    return "qpn=0x%x,psn=0x%x,lid=%d,gid=%s,mtu=%d,reads=%d,qkey=0x%x"
        .formatted(number, psn, lid, gid, mtu.bytes(), reads, queueKey);
  }
}
