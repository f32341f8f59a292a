package dev.verbena.soft.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.wire.Opcode;
import org.junit.jupiter.api.Test;

/** Responder resources answer duplicates of the last READ and atomic requests. */
class ResponderResourcesTest {
  private final ResponderResources resources = new ResponderResources();

  @Test
  void findsTheResultOfAnAtomic() {
    resources.resize(2);
    resources.addResult(10, Opcode.ATOMIC_ACKNOWLEDGE, 77);
    int found = resources.findResult(10);
    assertEquals(77, resources.original(found));
    assertEquals(Opcode.ATOMIC_ACKNOWLEDGE, resources.operation(found));
    assertEquals(-1, resources.findResult(11));
  }

  @Test
  void findsReadsAndTheirEnds() {
    resources.resize(2);
    resources.addRead(0xfffffe, 4, 1000, 7, 4000);
    assertEquals(0, resources.findRead(0xfffffe, 1000, 7, 4000));
    assertEquals(0, resources.findRead(0, 3000, 7, 2000), "the last two packets");
    assertEquals(-1, resources.findRead(0xfffffe, 1000, 8, 4000), "another key");
    assertEquals(-1, resources.findRead(0xfffffe, 999, 7, 4000), "before");
    assertEquals(-1, resources.findRead(0, 3000, 7, 2001), "beyond");
    assertEquals(-1, resources.findRead(2, 4900, 7, 100), "another PSN");
  }

  @Test
  void forgetsTheOldest() {
    resources.resize(2);
    for (int psn = 1; psn <= 3; psn++) {
      resources.addResult(psn, Opcode.ATOMIC_ACKNOWLEDGE, psn);
    }
    assertEquals(-1, resources.findResult(1));
    assertTrue(resources.findResult(2) >= 0);
    assertTrue(resources.findResult(3) >= 0);
  }

  @Test
  void mayBeNone() {
    assertTrue(resources.isEmpty());
    resources.resize(1);
    assertFalse(resources.isEmpty());
  }
}
