package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ProtocolException;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("host")
class ConnectionDataTest {
  private static final boolean IS_BIG_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;

  /**
   * The fields of {@code struct rs_conn_data}, as rsocket.c writes them on a little-endian host.
   */
  private static final String OF_C =
      "01"
          + "02" // RS_CONN_FLAG_IOMAP
          + "0180" // credits
          + "000000"
          + "05" // target_iomap_size
          + "00007f0011223344"
          + "0000abcd"
          + "00000002"
          + "00007f0055667788"
          + "0000ef01"
          + "00010000";

  private static final ConnectionData DATA =
      new ConnectionData(
          false,
          384,
          5,
          new ConnectionData.RemoteMemory(0x7f0011223344L, 0xabcd, 2),
          new ConnectionData.RemoteMemory(0x7f0055667788L, 0xef01, 1 << 16));

  private static byte[] ofC() {
    return HexFormat.of().parseHex(OF_C);
  }

  @Test
  void bytesAreThoseOfC() {
    assertArrayEquals(ofC(), DATA.toBytes());
  }

  @Test
  void readsTheBytesOfC() throws Exception {
    assertEquals(DATA, ConnectionData.read(ofC()));
    // The transport appends zeros.
    assertEquals(DATA, ConnectionData.read(Arrays.copyOf(ofC(), 196)));
  }

  @Test
  void byteOrderIsCompared() throws Exception {
    byte[] bigEndian = ofC();
    bigEndian[1] |= 1;
    assertTrue(ConnectionData.read(bigEndian).isBigEndian());
    assertEquals(!IS_BIG_ENDIAN, ConnectionData.read(bigEndian).isOfOtherByteOrder());
    assertEquals(IS_BIG_ENDIAN, ConnectionData.read(ofC()).isOfOtherByteOrder());
  }

  @Test
  void withoutTheFlagThereIsNoTableOfAreas() throws Exception {
    byte[] without = ofC();
    without[1] = 0;
    assertEquals(0, ConnectionData.read(without).areas());
  }

  @Test
  void foreignDataIsRefused() {
    for (byte[] data : new byte[][] {new byte[0], Arrays.copyOf(ofC(), 39)}) {
      var e = assertThrows(ProtocolException.class, () -> ConnectionData.read(data));
      assertTrue(e.getMessage().contains("no rsocket"), e::getMessage);
    }
    byte[] version = ofC();
    version[0] = 2;
    var other = assertThrows(ProtocolException.class, () -> ConnectionData.read(version));
    assertTrue(other.getMessage().contains("version 2"), other::getMessage);
    byte[] table = ofC();
    Arrays.fill(table, 20, 24, (byte) 0);
    assertThrows(ProtocolException.class, () -> ConnectionData.read(table));
    Arrays.fill(table, 20, 24, (byte) -1);
    assertThrows(ProtocolException.class, () -> ConnectionData.read(table));
  }

  @Test
  void manyAreasAreRounded() {
    assertEquals(128, ConnectionData.expressible(128));
    assertEquals(128, ConnectionData.expressible(255));
    assertEquals(512, ConnectionData.expressible(600));
    assertFalse(ConnectionData.expressible(0x7f00) > 0x7f00);
  }
}
