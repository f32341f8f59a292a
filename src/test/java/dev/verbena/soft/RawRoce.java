package dev.verbena.soft;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.zip.CRC32;

/**
 * A datagram socket of 127.0.0.0/8 that sends RoCE v2 packets written byte by byte, by the
 * specification and not by the library's codec, and counts what is sent to it.
 *
 * <p>It sends to no other address.
 */
final class RawRoce implements AutoCloseable {
  static final int RC_SEND_ONLY = 0x04;
  static final int RC_READ_REQUEST = 0x0c;
  static final int RC_FETCH_ADD = 0x14;

  // Attributes of management datagrams of the communication manager
  static final int REQ = 0x10;
  static final int MRA = 0x11;
  static final int REJ = 0x12;
  static final int REP = 0x13;
  static final int RTU = 0x14;
  static final int DREQ = 0x15;
  static final int DREP = 0x16;
  static final int SIDR_REQ = 0x17;
  static final int SIDR_REP = 0x18;
  static final int LAP = 0x19;
  static final int APR = 0x1a;

  private static final int BTH = 12;
  private static final int DETH = 8;
  private static final int MAD = 256;
  private static final int MAD_HEADER = 24;
  private static final int UD_SEND_ONLY = 0x64;
  private static final int KEPT = 4096;

  final InetAddress address;
  private final DatagramChannel channel;
  private final InetSocketAddress target;
  private final Thread receiver;
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 13);

  /** The management datagrams that were received, the oldest first, and no more than the last. */
  private final Deque<Mad> received = new ArrayDeque<>();

  private long packetsIn;
  private long bytesIn;
  private long packetsOut;
  private long bytesOut;

  /** A management datagram: its attribute and the 232 bytes after its header. */
  record Mad(int attribute, ByteBuffer message) {
    int id() {
      return message.getInt(0);
    }

    int peerId() {
      return message.getInt(4);
    }

    /** The reason of a REJ. */
    int reason() {
      return Short.toUnsignedInt(message.getShort(10));
    }
  }

  /**
   * Opens a socket.
   *
   * @param local its address; port 0 for any
   * @param target where it sends to
   */
  RawRoce(InetSocketAddress local, InetSocketAddress target) throws IOException {
    if (!isSafe(local.getAddress()) || !isSafe(target.getAddress())) {
      throw new IllegalArgumentException("not in 127.0.0.0/8: " + local + ", " + target);
    }
    this.address = local.getAddress();
    this.target = target;
    channel = DatagramChannel.open();
    channel.setOption(StandardSocketOptions.SO_RCVBUF, 4 << 20);
    channel.bind(local);
    receiver = Thread.ofPlatform().daemon().name("raw " + local).start(this::receive);
  }

  private static boolean isSafe(InetAddress address) {
    return address instanceof Inet4Address && address.getAddress()[0] == 127;
  }

  private void receive() {
    ByteBuffer datagram = ByteBuffer.allocateDirect(1 << 14);
    try {
      while (true) {
        datagram.clear();
        channel.receive(datagram);
        count(datagram.flip());
      }
    } catch (ClosedChannelException e) {
      // The end.
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private synchronized void count(ByteBuffer datagram) {
    packetsIn++;
    bytesIn += datagram.remaining();
    if (datagram.remaining() == BTH + DETH + MAD + 4
        && Byte.toUnsignedInt(datagram.get(0)) == UD_SEND_ONLY) {
      ByteBuffer message = ByteBuffer.allocate(MAD - MAD_HEADER);
      message.put(datagram.slice(BTH + DETH + MAD_HEADER, MAD - MAD_HEADER)).flip();
      received.add(new Mad(datagram.getShort(BTH + DETH + 16), message));
      if (received.size() > KEPT) {
        Mad _ = received.remove();
      }
    }
  }

  /** Takes the oldest management datagram, or null. */
  synchronized Mad poll() {
    return received.poll();
  }

  synchronized long packetsIn() {
    return packetsIn;
  }

  synchronized long bytesIn() {
    return bytesIn;
  }

  long packetsOut() {
    return packetsOut;
  }

  long bytesOut() {
    return bytesOut;
  }

  // Packets

  private ByteBuffer begin(int opcode, int queuePair, int psn) {
    buffer.clear();
    buffer
        .put((byte) opcode)
        .put((byte) 0x40)
        .putShort((short) -1)
        .putInt(queuePair)
        .putInt((psn & 0xffffff) | 1 << 31);
    return buffer;
  }

  /** Sends a READ request. */
  void read(int queuePair, int psn, long memory, int remoteKey, int length) throws IOException {
    begin(RC_READ_REQUEST, queuePair, psn).putLong(memory).putInt(remoteKey).putInt(length);
    finish();
  }

  /** Sends a FETCH ADD request. */
  void fetchAdd(int queuePair, int psn, long memory, int remoteKey) throws IOException {
    begin(RC_FETCH_ADD, queuePair, psn).putLong(memory).putInt(remoteKey).putLong(1).putLong(0);
    finish();
  }

  /** Sends a SEND of a length that is a multiple of 4. */
  void send(int queuePair, int psn, int length) throws IOException {
    begin(RC_SEND_ONLY, queuePair, psn).put(new byte[length]);
    finish();
  }

  /** Sends bytes as they are, with an ICRC that matches. */
  void send(byte[] bytes) throws IOException {
    buffer.clear().put(bytes);
    finish();
  }

  /** Sends a management datagram of the communication manager. */
  void manage(int attribute, ByteBuffer message) throws IOException {
    begin(UD_SEND_ONLY, 1, 0).putInt(0x80010000).putInt(1);
    buffer.putInt(0x01070203).putInt(0).putLong(0x1234_5678L).putShort((short) attribute);
    buffer.putShort((short) 0).putInt(0).put(message.duplicate().clear());
    finish();
  }

  /** Sends a message that has both ids in its first 8 bytes. */
  void manage(int attribute, int id, int peerId) throws IOException {
    manage(attribute, message(id, peerId));
  }

  /** A message with both ids in its first 8 bytes. */
  static ByteBuffer message(int id, int peerId) {
    return ByteBuffer.allocate(MAD - MAD_HEADER).putInt(0, id).putInt(4, peerId);
  }

  /** A REJ of a reason, of a REQ (0), of a REP (1) or of neither (2). */
  static ByteBuffer rejection(int id, int peerId, int about, int reason) {
    return message(id, peerId).put(8, (byte) (about << 6)).putShort(10, (short) reason);
  }

  /** A MRA that asks for a time. */
  static ByteBuffer delay(int id, int peerId, int about, int exponent) {
    return message(id, peerId).put(8, (byte) (about << 6)).put(9, (byte) (exponent << 3));
  }

  /** A DREQ for a queue pair. */
  static ByteBuffer disconnection(int id, int peerId, int queuePair) {
    return message(id, peerId).putInt(8, queuePair << 8);
  }

  /** A REP. */
  static ByteBuffer reply(int id, int peerId, int queuePair, long guid) {
    return message(id, peerId)
        .putInt(12, queuePair << 8)
        .put(24, (byte) 1)
        .put(25, (byte) 1)
        .put(27, (byte) (7 << 5))
        .putLong(28, guid);
  }

  /**
   * A REQ for an RC connection to a TCP port.
   *
   * @param from the address that it names as that of its sender
   * @param ackTimeout the local ACK timeout
   */
  static ByteBuffer request(
      int id,
      long guid,
      int queuePair,
      InetAddress from,
      InetAddress to,
      int port,
      int ackTimeout) {
    ByteBuffer req =
        message(id, 0)
            .putLong(8, 0x01060000L | port)
            .putLong(16, guid)
            .putInt(32, queuePair << 8 | 1)
            .putInt(36, 1)
            .putInt(40, 20 << 3)
            .putInt(44, 0x111 << 8 | 20 << 3 | 7)
            .putShort(48, (short) -1)
            .put(50, (byte) (3 << 4 | 7))
            .put(51, (byte) (15 << 4))
            .putInt(52, -1);
    gid(req, 56, from);
    gid(req, 72, to);
    req.put(93, (byte) 64).put(95, (byte) (ackTimeout << 3));
    privateHeader(req, 140, from, to);
    return req;
  }

  /** A SIDR REQ for a UDP port. */
  static ByteBuffer lookup(int id, InetAddress from, InetAddress to, int port) {
    ByteBuffer req = message(id, 0).putShort(4, (short) -1).putLong(8, 0x01110000L | port);
    privateHeader(req, 16, from, to);
    return req;
  }

  /** The header of rdma_cm before the private data. */
  private static void privateHeader(ByteBuffer to, int at, InetAddress from, InetAddress peer) {
    to.put(at + 1, (byte) 0x40).putShort(at + 2, (short) 40_000);
    to.put(at + 16, from.getAddress()).put(at + 32, peer.getAddress());
  }

  private static void gid(ByteBuffer to, int at, InetAddress address) {
    to.putShort(at + 10, (short) -1).put(at + 12, address.getAddress());
  }

  private void finish() throws IOException {
    buffer.flip();
    int crc = icrc();
    int body = buffer.limit();
    buffer.limit(body + 4).putInt(body, Integer.reverseBytes(crc));
    packetsOut++;
    bytesOut += buffer.remaining();
    channel.send(buffer, target);
  }

  /** The ICRC of what is in the buffer, with the identification 0. */
  private int icrc() throws IOException {
    int body = buffer.limit();
    int udp = 8 + body + 4;
    int port = ((InetSocketAddress) channel.getLocalAddress()).getPort();
    ByteBuffer header = ByteBuffer.allocate(8 + 20 + 8 + body);
    header.putLong(-1).putShort((short) 0x45ff).putShort((short) (20 + udp)).putInt(0x4000);
    header.put((byte) -1).put((byte) 17).putShort((short) -1);
    header.put(address.getAddress()).put(target.getAddress().getAddress());
    header.putShort((short) port).putShort((short) target.getPort());
    header.putShort((short) udp).putShort((short) -1);
    header.put(buffer.duplicate().position(0).limit(body));
    header.put(8 + 20 + 8 + 4, (byte) -1);
    CRC32 crc = new CRC32();
    crc.update(header.flip());
    return (int) crc.getValue();
  }

  @Override
  public void close() throws IOException {
    channel.close();
    try {
      receiver.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
