package dev.verbena.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The hash of receive side scaling. */
class ToeplitzTest {
  /** The key and the values of Microsoft's suite for the verification of RSS. */
  private static final byte[] KEY =
      HexFormat.of()
          .parseHex(
              "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");

  @ParameterizedTest
  @CsvSource({
    "66.9.149.187, 2794, 161.142.100.80, 1766, 323e8fc2, 51ccc178",
    "199.92.111.2, 14230, 65.69.140.83, 4739, d718262a, c626b0ea",
    "24.19.198.95, 12898, 12.22.207.184, 38024, d2d0a5de, 5c2b394a",
    "3ffe:2501:200:1fff::7, 2794, 3ffe:2501:200:3::1, 1766, 2cc18cd5, 40207d3d",
    "3ffe:501:8::260:97ff:fe40:efab, 14230, ff02::1, 4739, 0f0c461c, dde51bbf"
  })
  void hashIsThatOfOtherDevices(
      String from, int fromPort, String to, int toPort, String addresses, String ports)
      throws Exception {
    byte[] source = InetAddress.getByName(from).getAddress();
    byte[] destination = InetAddress.getByName(to).getAddress();
    ByteBuffer input = ByteBuffer.allocate(36).put(source).put(destination);
    int length = input.position();
    Toeplitz hash = new Toeplitz(KEY);
    assertEquals(addresses, HexFormat.of().toHexDigits(hash.hash(input.array(), length)));
    input.putShort((short) fromPort).putShort((short) toPort);
    assertEquals(ports, HexFormat.of().toHexDigits(hash.hash(input.array(), length + 4)));
  }
}
