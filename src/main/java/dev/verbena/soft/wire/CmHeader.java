package dev.verbena.soft.wire;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The header that the kernel's {@code rdma_cm} puts before the private data of a REQ or a SIDR REQ
 * ({@code struct cma_hdr}): the IP addresses of both ends, and the port of the sender.
 */
public record CmHeader(InetSocketAddress source, InetAddress destination) {
  public static final int LENGTH = 36;
  private static final int ADDRESS = 16;

  /** Writes the header before the user's data, which begin at {@link #LENGTH}. */
  public void write(byte[] data) {
    int version = destination instanceof Inet4Address ? 4 : 6;
    ByteBuffer bytes =
        ByteBuffer.wrap(data).put(1, (byte) (version << 4)).putShort(2, (short) source.getPort());
    put(source.getAddress(), bytes, 4);
    put(destination, bytes, 4 + ADDRESS);
  }

  private static void put(InetAddress address, ByteBuffer to, int at) {
    byte[] ip = address.getAddress();
    to.put(at + ADDRESS - ip.length, ip);
  }

  /** Reads the header; null if it is of no known version. */
  public static @Nullable CmHeader read(byte[] data) {
    ByteBuffer bytes = ByteBuffer.wrap(data);
    int length =
        switch (bytes.get(1) >>> 4 & 0xf) {
          case 4 -> 4;
          case 6 -> ADDRESS;
          default -> 0;
        };
    if (bytes.get(0) != 0 || length == 0) {
      return null;
    }
    int port = Short.toUnsignedInt(bytes.getShort(2));
    return new CmHeader(
        new InetSocketAddress(address(data, 4, length), port), address(data, 4 + ADDRESS, length));
  }

  private static InetAddress address(byte[] from, int at, int length) {
    int end = at + ADDRESS;
    try {
      return InetAddress.getByAddress(Arrays.copyOfRange(from, end - length, end));
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }
}
