package dev.verbena.soft.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.internal.foreign.Memory;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

/**
 * Writes packets to a capture file in the format of libpcap, as datagrams of RoCE v2, and remarks
 * between them, as messages of syslog from and to the address 0.0.0.0, which no packet of a network
 * has.
 */
public final class CaptureWriter {
  private static final int NANOSECONDS = 0xa1b23c4d;
  private static final int VERSION = 2 << 16 | 4;
  private static final int MAX_FRAME = 1 << 16;
  private static final int RAW_IP = 101;
  private static final int IPV4 = 20;
  private static final int IPV6 = 40;
  private static final int UDP = 8;
  private static final int UDP_PROTOCOL = 17;
  private static final int DO_NOT_FRAGMENT = 0x4000;
  private static final int DEFAULT_HOP_LIMIT = 64;
  private static final int FIRST_SOURCE_PORT = 0xc000;
  private static final int MAX_REMARK = 1024;

  static final int SYSLOG = 514;

  /** The facility "user" and the severity "informational". */
  private static final String PRIORITY = "<14>";

  private final OutputStream file;
  private final Icrc icrc = new Icrc();
  private final ByteBuffer frame = ByteBuffer.allocate(MAX_FRAME);
  private final ByteBuffer payload = ByteBuffer.allocateDirect(MAX_FRAME);
  private final long address = MemorySegment.ofBuffer(payload).address();

  /**
   * Writes the header of the file.
   *
   * @throws IOException if the file cannot be written
   */
  public CaptureWriter(OutputStream file) throws IOException {
    this.file = file;
    frame.putInt(NANOSECONDS).putInt(VERSION).putLong(0).putInt(MAX_FRAME).putInt(RAW_IP);
    flush();
  }

  /**
   * Writes a packet.
   *
   * @param time the time in nanoseconds since 1970
   * @throws IOException if the file cannot be written
   */
  public void write(Packet packet, long time) throws IOException {
    boolean isIpv4 = Gids.isIpv4(packet.destinationGidHigh, packet.destinationGidLow);
    int source = FIRST_SOURCE_PORT | (packet.flowLabel & 0x3fff);
    icrc.ports(source, UdpLink.PORT);
    int length = RoceCodec.write(packet, address);
    int crc = icrc.compute(packet, payload.clear(), address, length);
    Memory.putInt(address + length, packet.corrupt ? ~crc : crc);
    int datagram = UDP + length + Icrc.LENGTH;
    int all = (isIpv4 ? IPV4 : IPV6) + datagram;
    putRecord(time, all);
    int hopLimit = packet.hopLimit == 0 ? DEFAULT_HOP_LIMIT : packet.hopLimit & 0xff;
    int trafficClass = packet.trafficClass & 0xff;
    if (isIpv4) {
      putIpv4(trafficClass, all, hopLimit);
      putAddresses((int) packet.sourceGidLow, (int) packet.destinationGidLow);
    } else {
      frame.putInt(6 << 28 | trafficClass << 20 | (packet.flowLabel & 0xf_ffff));
      frame.putInt(datagram << 16 | UDP_PROTOCOL << 8 | hopLimit);
      frame.putLong(packet.sourceGidHigh).putLong(packet.sourceGidLow);
      frame.putLong(packet.destinationGidHigh).putLong(packet.destinationGidLow);
    }
    frame.putInt(source << 16 | UdpLink.PORT).putInt(datagram << 16);
    frame.put(payload.clear().limit(length + Icrc.LENGTH));
    flush();
  }

  /**
   * Writes a remark.
   *
   * @param text of which at most 1,024 bytes are written
   * @param time the time in nanoseconds since 1970
   * @throws IOException if the file cannot be written
   */
  public void write(String text, long time) throws IOException {
    byte[] message = (PRIORITY + text).getBytes(UTF_8);
    int length = Math.min(message.length, MAX_REMARK);
    putRecord(time, IPV4 + UDP + length);
    putIpv4(0, IPV4 + UDP + length, DEFAULT_HOP_LIMIT);
    putAddresses(0, 0);
    frame.putInt(SYSLOG << 16 | SYSLOG).putInt((UDP + length) << 16).put(message, 0, length);
    flush();
  }

  private void putRecord(long time, int length) {
    long second = TimeUnit.SECONDS.toNanos(1);
    frame.putInt((int) (time / second)).putInt((int) (time % second)).putInt(length).putInt(length);
  }

  private void putIpv4(int trafficClass, int length, int hopLimit) {
    frame.putInt(0x45 << 24 | trafficClass << 16 | length).putInt(DO_NOT_FRAGMENT);
    frame.putInt(hopLimit << 24 | UDP_PROTOCOL << 16);
  }

  /** Completes an IPv4 header by its addresses and its checksum. */
  private void putAddresses(int source, int destination) {
    int start = frame.putInt(source).putInt(destination).position() - IPV4;
    int sum = 0;
    for (int at = start; at < start + IPV4; at += Short.BYTES) {
      sum += Short.toUnsignedInt(frame.getShort(at));
    }
    frame.putShort(start + 10, (short) ~((sum & 0xffff) + (sum >>> 16)));
  }

  private void flush() throws IOException {
    file.write(frame.array(), 0, frame.position());
    frame.clear();
  }
}
