package dev.verbena.soft.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.regex.Pattern;

/**
 * The frames of a capture file, one after the other: finds the RoCE v2 packet in each, or the
 * remark of a {@link CaptureWriter}.
 */
public final class CapturedFrame {
  private static final int ETHERNET = 1;
  private static final int COOKED = 113;
  private static final int COOKED2 = 276;
  private static final int RAW_IP = 101;
  private static final int RAW_IPV4 = 228;
  private static final int RAW_IPV6 = 229;

  private static final int TYPE_IPV4 = 0x0800;
  private static final int TYPE_IPV6 = 0x86dd;
  private static final int TYPE_VLAN = 0x8100;
  private static final int TYPE_SERVICE_VLAN = 0x88a8;

  private static final int IPV4 = 20;
  private static final int IPV6 = 40;
  private static final int UDP = 8;
  private static final int UDP_PROTOCOL = 17;

  /** The flag "more fragments" and the offset. */
  private static final int FRAGMENT = 0x3fff;

  /** The priority at the beginning of a message of syslog. */
  private static final Pattern PRIORITY = Pattern.compile("^<\\d+>");

  /** 0.0.0.0 */
  private static final Gids NOWHERE = new Gids(0, 0x0000_ffff_0000_0000L);

  /** What a frame is. */
  public enum Kind {
    PACKET,
    REMARK,
    OTHER
  }

  private final int linkType;
  private final int port;
  private final Packet packet = new Packet();
  private final Icrc icrc = new Icrc();

  /** The longest datagram. */
  private final ByteBuffer body = ByteBuffer.allocateDirect(1 << 16);

  private final long address = MemorySegment.ofBuffer(body).address();
  private String text = "";
  private boolean wrong;

  /**
   * Creates a reader of frames.
   *
   * @param linkType a LINKTYPE of the capture file formats
   * @param port the UDP port of RoCE v2
   * @throws IOException if frames of the link type cannot be read
   */
  public CapturedFrame(int linkType, int port) throws IOException {
    switch (linkType) {
      case ETHERNET, COOKED, COOKED2, RAW_IP, RAW_IPV4, RAW_IPV6 -> {}
      default ->
          throw new IOException(
              "link type "
                  + linkType
                  + " is not read, only Ethernet (1), LINUX_SLL (113), LINUX_SLL2 (276) and raw IP"
                  + " (101, 228, 229)");
    }
    this.linkType = linkType;
    this.port = port;
  }

  /** The packet, or the remark, as text. */
  public String text() {
    return text;
  }

  /** Whether it is malformed, or its ICRC is not correct. */
  public boolean isWrong() {
    return wrong;
  }

  /** Reads a frame. */
  public Kind read(ByteBuffer frame) {
    int type = skipLinkHeader(frame);
    boolean isUdp = type == TYPE_IPV4 ? readIpv4(frame) : type == TYPE_IPV6 && readIpv6(frame);
    if (!isUdp || frame.remaining() < UDP) {
      return Kind.OTHER;
    }
    int source = Short.toUnsignedInt(frame.getShort());
    int destination = Short.toUnsignedInt(frame.getShort());
    int length = Short.toUnsignedInt(frame.getShort()) - UDP;
    frame.getShort();
    if (destination == port && length >= 0) {
      icrc.ports(source, destination);
      describe(frame, length);
      return Kind.PACKET;
    }
    if (destination == CaptureWriter.SYSLOG
        && NOWHERE.equals(new Gids(packet.sourceGidHigh, packet.sourceGidLow))
        && NOWHERE.equals(new Gids(packet.destinationGidHigh, packet.destinationGidLow))) {
      String message = UTF_8.decode(frame).toString();
      text = PRIORITY.matcher(message).replaceFirst("").replaceAll("\\p{IsControl}", " ");
      return Kind.REMARK;
    }
    return Kind.OTHER;
  }

  /** Returns the EtherType of what follows; -1 if there is nothing. */
  private int skipLinkHeader(ByteBuffer frame) {
    return switch (linkType) {
      case ETHERNET -> {
        int type = type(frame, 12, 14);
        while (type == TYPE_VLAN || type == TYPE_SERVICE_VLAN) {
          type = type(frame, 2, 4);
        }
        yield type;
      }
      case COOKED -> type(frame, 14, 16);
      case COOKED2 -> type(frame, 0, 20);
      default -> !frame.hasRemaining() ? -1 : frame.get(0) >>> 4 == 4 ? TYPE_IPV4 : TYPE_IPV6;
    };
  }

  /** Returns the EtherType at an offset, and skips a header. */
  private static int type(ByteBuffer frame, int offset, int header) {
    if (frame.remaining() < header) {
      return -1;
    }
    int type = Short.toUnsignedInt(frame.getShort(frame.position() + offset));
    frame.position(frame.position() + header);
    return type;
  }

  /** Reads an IPv4 header without options; false if what follows is no UDP header. */
  private boolean readIpv4(ByteBuffer frame) {
    if (frame.remaining() < IPV4) {
      return false;
    }
    int at = frame.position();
    int identification = frame.getInt(at + 4);
    boolean isUdp =
        frame.get(at) == 0x45
            && (identification & FRAGMENT) == 0
            && frame.get(at + 9) == UDP_PROTOCOL;
    icrc.identification(identification);
    Gids.setIpv4Source(packet, frame.getInt(at + 12));
    packet.destinationGidHigh = packet.sourceGidHigh;
    packet.destinationGidLow =
        (packet.sourceGidLow & ~0xffff_ffffL) | Integer.toUnsignedLong(frame.getInt(at + 16));
    frame.position(at + IPV4);
    return isUdp;
  }

  /** Reads an IPv6 header; false if what follows is no UDP header. */
  private boolean readIpv6(ByteBuffer frame) {
    if (frame.remaining() < IPV6) {
      return false;
    }
    int at = frame.position();
    boolean isUdp = frame.get(at) >>> 4 == 6 && frame.get(at + 6) == UDP_PROTOCOL;
    packet.sourceGidHigh = frame.getLong(at + 8);
    packet.sourceGidLow = frame.getLong(at + 16);
    packet.destinationGidHigh = frame.getLong(at + 24);
    packet.destinationGidLow = frame.getLong(at + 32);
    frame.position(at + IPV6);
    return isUdp;
  }

  /** Describes the payload of a datagram, of which a part may not have been captured. */
  private void describe(ByteBuffer frame, int length) {
    int captured = Math.min(length, frame.remaining());
    for (int i = 0; i < length; i++) {
      body.put(i, i < captured ? frame.get(frame.position() + i) : 0);
    }
    int end = length - Icrc.LENGTH;
    RoceCodec.Result result = RoceCodec.read(address, end, packet);
    boolean isComplete = captured == length && end >= RoceCodec.BTH;
    boolean isCorrect =
        isComplete
            && icrc.compute(packet, body.clear(), address, end)
                == Integer.reverseBytes(body.clear().getInt(end));
    wrong = (isComplete && !isCorrect) || result == RoceCodec.Result.MALFORMED;
    String verdict = isCorrect ? "ICRC ok" : isComplete ? "wrong ICRC" : "ICRC not captured";
    text = text(result, length, captured) + ' ' + verdict;
  }

  private String text(RoceCodec.Result result, int length, int captured) {
    String addresses = PacketText.addresses(packet);
    return switch (result) {
      case NOTIFICATION -> addresses + " CNP qpn=0x%06x".formatted(body.getInt(4) & Psn.MASK);
      case MALFORMED -> addresses + " malformed, " + length + " bytes";
      case PACKET -> {
        if (captured < RoceCodec.BTH + RoceCodec.extensions(packet.opcode)) {
          yield addresses + " " + length + " bytes, of which " + captured + " were captured";
        }
        yield captured < length ? PacketText.headers(packet) : PacketText.of(packet);
      }
    };
  }
}
