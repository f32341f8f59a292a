package dev.verbena.verbs;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * All that a peer must know of a queue pair to talk to it. To be exchanged by whatever means, as
 * {@linkplain #bytes 32 bytes} or as {@linkplain #toString text}.
 *
 * @param number the queue pair's number
 * @param psn the number of the first packet that it will send
 * @param lid its port's LID; 0 on Ethernet
 * @param gid its port's GID
 * @param mtu the largest packet that its port takes
 * @param reads how many RDMA reads and atomics it serves at a time
 * @param queueKey the key that datagrams to it must carry; 0 for connections
 */
public record QueuePairAddress(
    int number, int psn, int lid, Gid gid, Mtu mtu, int reads, int queueKey) {

  /** How many bytes {@link #bytes} has. */
  public static final int SIZE = 32;

  private static final Set<String> KEYS =
      Set.of("qpn", "psn", "lid", "gid", "mtu", "reads", "qkey");

  /** Checks that each number fits its field. */
  public QueuePairAddress {
    Ranges.bits(number, 24, "a QPN");
    Ranges.bits(psn, 24, "a PSN");
    Ranges.bits(lid, Short.SIZE, "a LID");
    Objects.requireNonNull(gid, "gid");
    Objects.requireNonNull(mtu, "mtu");
    Ranges.bits(reads, Byte.SIZE, "a number of reads");
  }

  /**
   * The address as bytes, the same on every machine.
   *
   * @return {@value #SIZE} bytes: QPN, PSN and Q_Key of 4 bytes each, LID of 2, MTU code and reads
   *     of 1 each, all in network order, then the GID
   */
  public byte[] bytes() {
    return ByteBuffer.allocate(SIZE)
        .putInt(number)
        .putInt(psn)
        .putInt(queueKey)
        .putShort((short) lid)
        .put((byte) mtu.code())
        .put((byte) reads)
        .put(gid.bytes())
        .array();
  }

  /**
   * Reads what {@link #bytes} wrote.
   *
   * @param bytes {@value #SIZE} bytes
   * @return the address
   * @throws IllegalArgumentException if the bytes are not an address
   */
  public static QueuePairAddress of(byte[] bytes) {
    if (bytes.length != SIZE) {
      throw new IllegalArgumentException(
          "a queue pair's address has " + SIZE + " bytes, not " + bytes.length);
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
    return new QueuePairAddress(number, psn, lid, Gid.of(gid), mtuOf(mtu), reads, queueKey);
  }

  private static Mtu mtuOf(int code) {
    return Arrays.stream(Mtu.values())
        .filter(mtu -> mtu.code() == code)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(code + " is no code of an MTU"));
  }

  /**
   * Reads what {@link #toString} wrote.
   *
   * @param text such as {@code qpn=0x11,psn=0x5e1f2a,lid=0,gid=::ffff:10.9.0.1,mtu=1024,reads=16,
   *     qkey=0x0}, in any order
   * @return the address
   * @throws IllegalArgumentException naming what is missing, unknown or no number
   */
  public static QueuePairAddress parse(String text) {
    Map<String, String> values = new HashMap<>();
    for (String part : text.strip().split(",", -1)) {
      String[] pair = part.strip().split("=", 2);
      if (pair.length != 2 || !KEYS.contains(pair[0]) || values.put(pair[0], pair[1]) != null) {
        throw new IllegalArgumentException(
            "not, or not only once, a part of a queue pair's address: " + part);
      }
    }
    if (values.size() != KEYS.size()) {
      throw new IllegalArgumentException("a queue pair's address has " + KEYS + ", not " + text);
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

  /** The address as one line of text that {@link #parse} reads. */
  @Override
  public String toString() {
    return "qpn=0x%x,psn=0x%x,lid=%d,gid=%s,mtu=%d,reads=%d,qkey=0x%x"
        .formatted(number, psn, lid, gid, mtu.bytes(), reads, queueKey);
  }
}
