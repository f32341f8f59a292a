package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;

/** The first two tokens are those that other implementations made of the same values. */
class TokenTest {
  @Test
  void aTargetWithAnAddressOfIpv4() {
    assertEquals(
        "00007f2e144e7000:00001000:00000311:0000:000003:1:00000000000000000000ffff0a4d0001",
        Token.of(target(3, "10.77.0.1"), 0x7f2e_144e_5000L + 8192, 4096, 0x311));
  }

  @Test
  void aTargetWithAnAddressOfIpv6() {
    assertEquals(
        "00007ff1775bc000:00100000:00001911:0000:00020d:1:fd770000000000000000000000000001",
        Token.of(target(0x20d, "fd77::1"), 0x7ff1_775b_c000L, 1 << 20, 0x1911));
  }

  @Test
  void valuesOfAllDigits() {
    assertEquals(
        "ffffff0123456789:fffffffe:fedcba98:0000:fedcba:1:fd770000000000000000000000000001",
        Token.of(target(0xfedcba, "fd77::1"), 0xffff_ff01_2345_6789L, 0xffff_fffeL, 0xfedcba98));
  }

  @Test
  void aTargetOnInfiniBand() {
    QueuePairAddress target = QueuePairAddress.of(1, Gid.ZERO).withLid(0xc123);
    assertEquals(
        "0000000000000001:00000001:00000002:c123:000001:0:00000000000000000000000000000000",
        Token.of(target, 1, 1, 2));
  }

  private static QueuePairAddress target(int number, String address) {
    return QueuePairAddress.of(number, Gid.of(InetAddress.ofLiteral(address)));
  }
}
