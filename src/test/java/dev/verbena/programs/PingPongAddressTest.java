package dev.verbena.programs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.address.Gid;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** The line that rdma-core's pingpong programs exchange. */
class PingPongAddressTest {
  private static final String LINE = "0001:000011:abcdef:00000000000000000000ffff0a090001\0";

  private static final QueuePairAddress ADDRESS =
      QueuePairAddress.of(0x11, Gid.parse("::ffff:10.9.0.1")).withPsn(0xabcdef).withLid(1);

  @Test
  void isWrittenAsInC() {
    assertArrayEquals(LINE.getBytes(StandardCharsets.US_ASCII), PingPongAddress.bytes(ADDRESS));
    assertEquals(PingPongAddress.SIZE, LINE.length());
  }

  @Test
  void isReadAsInC() throws IOException {
    assertEquals(
        ADDRESS,
        PingPongAddress.of(LINE.getBytes(StandardCharsets.US_ASCII), Mtu.MTU_1024, Gid.ZERO));
  }

  @Test
  void invalidLineThrows() {
    assertThrows(
        IOException.class,
        () ->
            PingPongAddress.of(
                "hello".getBytes(StandardCharsets.US_ASCII), Mtu.MTU_1024, Gid.ZERO));
  }
}
