package dev.verbena.programs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.Gid;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** What RDMA_RC_example's ends exchange: packed, in network order. */
class RcExchangeTest {
  private static final String RECORD =
      "00007f0123456789" // address
          + "0000abcd" // rkey
          + "00000011" // queue pair
          + "0002" // LID
          + "00000000000000000000ffff0a090001"; // GID

  private static final RcExchange EXCHANGE =
      new RcExchange(0x7f0123456789L, 0xabcd, 0x11, 2, Gid.parse("::ffff:10.9.0.1"));

  @Test
  void theRecordHasThirtyFourBytes() {
    byte[] bytes = HexFormat.of().parseHex(RECORD);
    assertEquals(34, bytes.length);
    assertArrayEquals(bytes, EXCHANGE.bytes());
    assertEquals(EXCHANGE, RcExchange.of(bytes));
  }
}
