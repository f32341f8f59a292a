package dev.verbena.address;

import dev.verbena.internal.Codes;
import dev.verbena.internal.Ranges;
import dev.verbena.verbs.QueuePair;
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
  public static final int SIZE = 36;

  /** The format of the bytes; another format has another number. */
  private static final byte VERSION = 1;

  private static final Set<String> KEYS =
      Set.of("qpn", "psn", "lid", "gid", "type", "mtu", "reads", "qkey");

  private final int number;
  private final int psn;
  private final int lid;
  private final Gid gid;
  private final GidType gidType;
  private final Mtu mtu;
  private final int reads;
  private final int queueKey;

  private QueuePairAddress(
      int number, int psn, int lid, Gid gid, GidType gidType, Mtu mtu, int reads, int queueKey) {
    this.number = Ranges.bits(number, 24, "a QPN");
    this.psn = Ranges.bits(psn, 24, "a PSN");
    this.lid = Ranges.bits(lid, Short.SIZE, "a LID");
    this.gid = Objects.requireNonNull(gid, "gid");
    this.gidType = Objects.requireNonNull(gidType, "gidType");
    this.mtu = Objects.requireNonNull(mtu, "mtu");
    this.reads = Ranges.bits(reads, Byte.SIZE, "a number of RDMA reads");
    this.queueKey = queueKey;
  }

  /**
   * {@return an address with a GID of unknown type, PSN 0, LID 0, an MTU of 1024 bytes, one RDMA
   * read and Q_Key 0}
   *
   * @param number the queue pair number
   * @param gid the GID of the port
   */
  public static QueuePairAddress of(int number, Gid gid) {
    return new QueuePairAddress(number, 0, 0, gid, GidType.UNKNOWN, Mtu.MTU_1024, 1, 0);
  }

  /**
   * {@return this address with another PSN}
   *
   * @param first the packet sequence number of the first packet that the queue pair sends
   */
  public QueuePairAddress withPsn(int first) {
    return new QueuePairAddress(number, first, lid, gid, gidType, mtu, reads, queueKey);
  }

  /**
   * {@return this address with another LID}
   *
   * @param local the LID of the port; 0 on Ethernet
   */
  public QueuePairAddress withLid(int local) {
    return new QueuePairAddress(number, psn, local, gid, gidType, mtu, reads, queueKey);
  }

  /**
   * {@return this address with another type of the GID}
   *
   * @param type the type of packets that use the GID; UNKNOWN if it need not be that of the other
   *     side
   */
  public QueuePairAddress withGidType(GidType type) {
    return new QueuePairAddress(number, psn, lid, gid, type, mtu, reads, queueKey);
  }

  /**
   * {@return this address with another MTU}
   *
   * @param limit the largest MTU that the queue pair supports
   */
  public QueuePairAddress withMtu(Mtu limit) {
    return new QueuePairAddress(number, psn, lid, gid, gidType, limit, reads, queueKey);
  }

  /**
   * {@return this address with another number of RDMA reads}
   *
   * @param limit the maximum number of outstanding RDMA reads and atomics as the target
   */
  public QueuePairAddress withReads(int limit) {
    return new QueuePairAddress(number, psn, lid, gid, gidType, mtu, limit, queueKey);
  }

  /**
   * {@return this address with another Q_Key}
   *
   * @param key the Q_Key that datagrams must carry; 0 for connected queue pairs
   */
  public QueuePairAddress withQueueKey(int key) {
    return new QueuePairAddress(number, psn, lid, gid, gidType, mtu, reads, key);
  }

  /** {@return the queue pair number (QPN), of 24 bits} */
  public int number() {
    return number;
  }

  /**
   * {@return the packet sequence number, of 24 bits, of the first packet that the queue pair sends}
   */
  public int psn() {
    return psn;
  }

  /** {@return the LID of the port; 0 on Ethernet} */
  public int lid() {
    return lid;
  }

  /** {@return the GID of the port} */
  public Gid gid() {
    return gid;
  }

  /**
   * {@return the type of packets that use the GID} A RoCE v1 and a RoCE v2 queue pair cannot be
   * connected.
   */
  public GidType gidType() {
    return gidType;
  }

  /** {@return the largest MTU that the queue pair supports} */
  public Mtu mtu() {
    return mtu;
  }

  /** {@return the maximum number of outstanding RDMA reads and atomics as the target, 0 to 255} */
  public int reads() {
    return reads;
  }

  /** {@return the Q_Key that datagrams must carry; 0 for connected queue pairs} */
  public int queueKey() {
    return queueKey;
  }

  /**
   * {@return this address as {@value #SIZE} bytes, in a format that does not depend on the machine:
   * the version of the format (1), the code of the GID's type, the LID of 2 bytes, QPN, PSN and
   * Q_Key of 4 each, the MTU code, the number of RDMA reads, two zeros, all in network byte order,
   * then the GID}
   */
  public byte[] toBytes() {
    return ByteBuffer.allocate(SIZE)
        .put(VERSION)
        .put((byte) gidType.code())
        .putShort((short) lid)
        .putInt(number)
        .putInt(psn)
        .putInt(queueKey)
        .put((byte) mtu.code())
        .put((byte) reads)
        .putShort((short) 0)
        .put(gid.toBytes())
        .array();
  }

  /**
   * {@return the address that {@link #toBytes} converted}
   *
   * @param bytes {@value #SIZE} bytes
   * @throws IllegalArgumentException if the bytes are not an address
   */
  public static QueuePairAddress fromBytes(byte[] bytes) {
    if (Arrays.equals(bytes, new byte[SIZE])) {
      throw new IllegalArgumentException(
          "not the address of a queue pair, all bytes are zero: were the peer's bytes read, by"
              + " readFully?");
    }
    if (bytes.length > 0 && bytes[0] != VERSION) {
      throw new IllegalArgumentException(
          "the address of a queue pair has version "
              + Byte.toUnsignedInt(bytes[0])
              + " of the format, and this release knows version "
              + VERSION
              + ": use the same release of the library at both ends");
    }
    if (bytes.length != SIZE) {
      throw new IllegalArgumentException(
          "address of a queue pair must have " + SIZE + " bytes: " + bytes.length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes).position(1);
    GidType gidType = Codes.of(GidType.class, buffer.get(), GidType.UNKNOWN);
    int lid = Short.toUnsignedInt(buffer.getShort());
    int number = buffer.getInt();
    int psn = buffer.getInt();
    int queueKey = buffer.getInt();
    Mtu mtu = mtuOf(buffer.get());
    int reads = Byte.toUnsignedInt(buffer.get());
    buffer.position(SIZE - Gid.SIZE);
    byte[] gid = new byte[Gid.SIZE];
    buffer.get(gid);
    return new QueuePairAddress(
        number, psn, lid, Gid.fromBytes(gid), gidType, mtu, reads, queueKey);
  }

  private static Mtu mtuOf(int code) {
    return Arrays.stream(Mtu.values())
        .filter(mtu -> mtu.code() == code)
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "not the address of a queue pair, its MTU code is "
                        + code
                        + ": did the peer send localAddress().toBytes()?"));
  }

  /**
   * {@return the address that {@link #toString} converted}
   *
   * @param text such as {@code qpn=0x11,psn=0x5e1f2a,lid=0,gid=::ffff:10.9.0.1,type=ROCE_V2,
   *     mtu=1024,reads=16,qkey=0x0}, in any order
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
        GidType.valueOf(values.get("type")),
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
        && that.gidType == gidType
        && that.mtu == mtu
        && that.reads == reads
        && that.queueKey == queueKey;
  }

  @Override
  public int hashCode() {
    return Objects.hash(number, psn, lid, gid, gidType, mtu, reads, queueKey);
  }

  /** Returns this address as one line of text that {@link #parse} reads. */
  @Override
  public String toString() {
    return "qpn=0x%x,psn=0x%x,lid=%d,gid=%s,type=%s,mtu=%d,reads=%d,qkey=0x%x"
        .formatted(number, psn, lid, gid, gidType, mtu.bytes(), reads, queueKey);
  }
}
