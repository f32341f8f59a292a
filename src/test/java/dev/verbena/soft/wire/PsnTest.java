package dev.verbena.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Packet sequence numbers have 24 bits and wrap. */
class PsnTest {
  @Test
  void numbersWrap() {
    assertEquals(0, Psn.plus(0xffffff, 1));
    assertEquals(0xffffff, Psn.plus(0, -1));
    assertEquals(4, Psn.plus(0xfffffe, 6));
  }

  @Test
  void distanceIsSigned() {
    assertEquals(1, Psn.distance(0xffffff, 0));
    assertEquals(-1, Psn.distance(0, 0xffffff));
    assertEquals(0, Psn.distance(7, 7));
    assertEquals(0x7fffff, Psn.distance(0, 0x7fffff));
    assertEquals(-0x800000, Psn.distance(0, 0x800000));
  }
}
