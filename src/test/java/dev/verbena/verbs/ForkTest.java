package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.verbena.testing.DeviceTest;
import org.junit.jupiter.api.DisplayName;

/** As rdma-core's test_fork.py; the kernels of the lab copy pages on fork by themselves. */
class ForkTest {
  @DeviceTest
  @DisplayName("S2-V01, S1-06: initialised, or not needed")
  void isSafe() throws Exception {
    try (Pair pair = new Pair()) {
      assertNotEquals(Fork.Status.ENABLED, Fork.status(), "nobody asked for it");
      // A child of this process, as ProcessBuilder makes it, leaves the registered memory alone.
      pair.a.memory.memory().setString(0, "before");
      assertEquals(0, new ProcessBuilder("true").start().waitFor());
      assertEquals("before", pair.a.memory.memory().getString(0));
    }
  }
}
