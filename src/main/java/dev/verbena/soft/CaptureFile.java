package dev.verbena.soft;

import dev.verbena.internal.foreign.NativeAccess;
import dev.verbena.soft.wire.CapturedFrame;
import dev.verbena.soft.wire.UdpLink;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;

/**
 * Reads a capture file in the format of libpcap, as {@code tcpdump -w} writes it, and describes its
 * RoCE v2 packets as text.
 *
 * {@snippet :
 * try (InputStream file = Files.newInputStream(Path.of("roce.pcap"))) {
 *   CaptureFile.read(file, System.out::println);
 * }
 * }
 *
 * <p>Both byte orders and both resolutions of time are read; Ethernet with VLAN tags, {@code
 * LINUX_SLL}, {@code LINUX_SLL2} and raw IP as link types; IPv4 and IPv6.
 */
public final class CaptureFile {
  private static final int MICROSECONDS = 0xa1b2c3d4;
  private static final int NANOSECONDS = 0xa1b23c4d;
  private static final int NEXT_GENERATION = 0x0a0d0d0a;
  private static final int FILE_HEADER = 24;
  private static final int RECORD_HEADER = 16;

  /** The longest frame: {@code MAXIMUM_SNAPLEN} of libpcap. */
  private static final int MAX_FRAME = 262_144;

  private final InputStream file;
  private final Consumer<String> lines;
  private final int port;
  private ByteOrder order = ByteOrder.BIG_ENDIAN;
  private boolean isNanoseconds;
  private long firstTime;
  private int frames;
  private int packets;
  private int wrong;

  /**
   * The numbers of frames and packets of a file.
   *
   * @param frames the number of frames
   * @param packets how many of them are RoCE v2 packets
   * @param wrong how many of the packets are malformed or have a wrong ICRC
   */
  public record Summary(int frames, int packets, int wrong) {}

  private CaptureFile(InputStream file, int port, Consumer<String> lines) {
    this.file = file;
    this.port = port;
    this.lines = lines;
  }

  /**
   * Reads a file to its end and describes each packet to the UDP port of RoCE v2, 4791, in a line:
   * time since the first frame, addresses, opcode, the fields of all headers, whether the ICRC is
   * correct. The steps and remarks that {@link SoftNetwork#capture} writes in a {@link Simulation}
   * are lines, too.
   *
   * @param file the file, or the output of a running {@code tcpdump -U -w -}
   * @param lines gets each line, when its packet was read
   * @return how many packets there were
   * @throws IOException if the content is not that of a capture file, or cannot be read
   * @throws IllegalCallerException if the JVM denies native access
   */
  public static Summary read(InputStream file, Consumer<String> lines) throws IOException {
    return read(file, UdpLink.PORT, lines);
  }

  /**
   * Reads a file as {@link #read(InputStream, Consumer)} does, with packets to another UDP port.
   *
   * @param file the file
   * @param port the UDP port
   * @param lines gets each line
   * @return how many packets there were
   * @throws IOException if the content is not that of a capture file, or cannot be read
   * @throws IllegalCallerException if the JVM denies native access
   */
  public static Summary read(InputStream file, int port, Consumer<String> lines)
      throws IOException {
    NativeAccess.require();
    return new CaptureFile(file, port, lines).read();
  }

  private Summary read() throws IOException {
    ByteBuffer header = ByteBuffer.wrap(file.readNBytes(FILE_HEADER));
    if (header.remaining() < FILE_HEADER) {
      throw new IOException("not a capture file: it has less than " + FILE_HEADER + " bytes");
    }
    order(header.getInt(0));
    header.order(order);
    CapturedFrame frame = new CapturedFrame(header.getInt(20) & 0x0fff_ffff, port);
    byte[] bytes = new byte[0];
    while (true) {
      ByteBuffer head = ByteBuffer.wrap(file.readNBytes(RECORD_HEADER)).order(order);
      if (!head.hasRemaining()) {
        return new Summary(frames, packets, wrong);
      }
      if (head.remaining() < RECORD_HEADER) {
        throw new EOFException("the file ends after frame " + frames + ", within a header");
      }
      int length = head.getInt(8);
      if (length < 0 || length > MAX_FRAME) {
        throw new IOException(
            "frame %d has %d bytes; a capture file has frames of at most %d"
                .formatted(frames + 1, Integer.toUnsignedLong(length), MAX_FRAME));
      }
      if (bytes.length < length) {
        bytes = new byte[length];
      }
      if (file.readNBytes(bytes, 0, length) < length) {
        throw new EOFException("the file ends within frame " + (frames + 1));
      }
      String time = time(head);
      frames++;
      CapturedFrame.Kind kind = frame.read(ByteBuffer.wrap(bytes, 0, length).slice());
      if (kind == CapturedFrame.Kind.PACKET) {
        packets++;
        wrong += frame.isWrong() ? 1 : 0;
      }
      if (kind != CapturedFrame.Kind.OTHER) {
        lines.accept(time + ' ' + frame.text());
      }
    }
  }

  /** Determines byte order and resolution from the first four bytes, read as big-endian. */
  private void order(int magic) throws IOException {
    switch (magic) {
      case MICROSECONDS, NANOSECONDS -> order = ByteOrder.BIG_ENDIAN;
      case NEXT_GENERATION ->
          throw new IOException("pcapng is not read: convert it with editcap -F pcap IN OUT");
      default -> {
        order = ByteOrder.LITTLE_ENDIAN;
        int reversed = Integer.reverseBytes(magic);
        if (reversed != MICROSECONDS && reversed != NANOSECONDS) {
          throw new IOException("not a capture file: it begins with 0x%08x".formatted(magic));
        }
      }
    }
    isNanoseconds = magic == NANOSECONDS || Integer.reverseBytes(magic) == NANOSECONDS;
  }

  /** The time since the first frame, in seconds. */
  private String time(ByteBuffer head) {
    long unit = isNanoseconds ? 1_000_000_000 : 1_000_000;
    long time = Integer.toUnsignedLong(head.getInt(0)) * unit + head.getInt(4);
    if (frames == 0) {
      firstTime = time;
    }
    long since = time - firstTime;
    return (isNanoseconds ? "%s%d.%09d" : "%s%d.%06d")
        .formatted(since < 0 ? "-" : "", Math.abs(since) / unit, Math.abs(since) % unit);
  }
}
