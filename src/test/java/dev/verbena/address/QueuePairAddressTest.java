package dev.verbena.address;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QueuePairAddressTest {
  private static final QueuePairAddress ADDRESS =
      QueuePairAddress.of(0xabcdef, Gid.parse("fe80::1"))
          .withPsn(0xffffff)
          .withLid(65535)
          .withMtu(Mtu.MTU_4096)
          .withReads(255)
          .withQueueKey(0x8000_0001)
          .withGidType(GidType.ROCE_V2);

  private static final String TEXT =
      "qpn=0xabcdef,psn=0xffffff,lid=65535,gid=fe80::1,type=ROCE_V2,mtu=4096,reads=255,qkey=0x80000001";

  @Test
  void bytesRoundTrip() {
    assertEquals(ADDRESS, QueuePairAddress.fromBytes(ADDRESS.toBytes()));
    assertEquals(
        "0102ffff00abcdef00ffffff8000000105ff0000fe800000000000000000000000000001",
        HexFormat.of().formatHex(ADDRESS.toBytes()));
  }

  @Test
  void textRoundTrip() {
    assertEquals(TEXT, ADDRESS.toString());
    assertEquals(ADDRESS, QueuePairAddress.parse(TEXT));
    assertEquals(ADDRESS, QueuePairAddress.parse(" " + TEXT.replace(",", ", ") + "\n"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "qpn=1",
        TEXT + ",qpn=1",
        TEXT + ",more=1",
        "qpn=0x1000000,psn=0,lid=0,gid=::,type=IB,mtu=1024,reads=1,qkey=0",
        "qpn=1,psn=-1,lid=0,gid=::,type=IB,mtu=1024,reads=1,qkey=0",
        "qpn=1,psn=0,lid=65536,gid=::,type=IB,mtu=1024,reads=1,qkey=0",
        "qpn=1,psn=0,lid=0,gid=x,type=IB,mtu=1024,reads=1,qkey=0",
        "qpn=1,psn=0,lid=0,gid=::,type=IB,mtu=1500,reads=1,qkey=0",
        "qpn=1,psn=0,lid=0,gid=::,type=IB,mtu=1024,reads=256,qkey=0",
        "qpn=1,psn=0,lid=0,gid=::,type=RoCE,mtu=1024,reads=1,qkey=0",
        "qpn=1,psn=0,lid=0,gid=::,mtu=1024,reads=1,qkey=0",
        "qpn=one,psn=0,lid=0,gid=::,type=IB,mtu=1024,reads=1,qkey=0",
      })
  void invalidTextThrows(String text) {
    assertThrows(IllegalArgumentException.class, () -> QueuePairAddress.parse(text));
  }

  @Test
  void invalidBytesThrow() {
    assertThrows(IllegalArgumentException.class, () -> QueuePairAddress.fromBytes(new byte[35]));
    byte[] badMtu = ADDRESS.toBytes();
    badMtu[16] = 9;
    var thrown =
        assertThrows(IllegalArgumentException.class, () -> QueuePairAddress.fromBytes(badMtu));
    assertTrue(thrown.getMessage().contains("MTU"), thrown.getMessage());
    byte[] badNumber = ADDRESS.toBytes();
    badNumber[4] = 1;
    assertThrows(IllegalArgumentException.class, () -> QueuePairAddress.fromBytes(badNumber));
  }

  @Test
  void anotherVersionIsRefusedWithAReason() {
    byte[] later = ADDRESS.toBytes();
    later[0] = 2;
    var thrown =
        assertThrows(IllegalArgumentException.class, () -> QueuePairAddress.fromBytes(later));
    assertTrue(thrown.getMessage().contains("version 2"), thrown.getMessage());
    var earlier =
        assertThrows(
            IllegalArgumentException.class, () -> QueuePairAddress.fromBytes(new byte[32]));
    assertTrue(earlier.getMessage().contains("version 0"), earlier.getMessage());
  }

  @Test
  void anUnknownGidTypeIsKeptApart() {
    assertEquals(GidType.UNKNOWN, QueuePairAddress.of(1, Gid.parse("fe80::1")).gidType());
    byte[] unknown = ADDRESS.withGidType(GidType.UNKNOWN).toBytes();
    assertEquals(GidType.UNKNOWN, QueuePairAddress.fromBytes(unknown).gidType());
  }
}
