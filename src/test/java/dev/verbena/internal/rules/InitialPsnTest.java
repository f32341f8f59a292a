package dev.verbena.internal.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Initial packet sequence numbers. */
class InitialPsnTest {
  @Test
  void eachBitVaries() {
    int or = 0;
    int and = -1;
    Set<Integer> all = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      int psn = InitialPsn.next();
      all.add(psn);
      or |= psn;
      and &= psn;
    }
    assertEquals(0xffffff, or);
    assertEquals(0, and);
    assertTrue(all.size() > 190, () -> all.size() + " different numbers of 200");
  }
}
