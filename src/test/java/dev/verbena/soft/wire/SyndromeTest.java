package dev.verbena.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.values.RnrTimer;
import org.junit.jupiter.api.Test;

/** Syndromes of acknowledgements. */
class SyndromeTest {
  @Test
  void kindsAreDistinguished() {
    assertTrue(Syndrome.isAck(Syndrome.ACK));
    assertFalse(Syndrome.isAck(Syndrome.NAK_SEQUENCE));
    assertFalse(Syndrome.isRnrNak(Syndrome.NAK_SEQUENCE));
    assertTrue(Syndrome.isRnrNak(Syndrome.rnrNak(31)));
  }

  @Test
  void timesAreThoseOfTheSpecification() {
    for (int code = 0; code < 32; code++) {
      assertEquals(
          RnrTimer.ofCode(code).toDuration().toNanos(), Syndrome.rnrNanos(Syndrome.rnrNak(code)));
    }
  }
}
