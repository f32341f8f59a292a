package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import org.junit.jupiter.api.Test;

/** What was never closed is reported, and nothing else is. */
class LeakReportTest {
  @Test
  void unreachableResourceIsReported() {
    String output = new ForkedJvm().run(Leaks.class).succeeded();
    assertTrue(output.contains("WARNING: what was forgotten was never closed"), output);
    assertFalse(output.contains("what was closed was"), output);
    assertFalse(output.contains("created here"), output);
    assertTrue(output.contains("-Ddev.verbena.leaks=trace adds where"), output);
  }

  @Test
  void reportHasTheCreationStackOnRequest() {
    String output = new ForkedJvm().with("-Ddev.verbena.leaks=trace").run(Leaks.class).succeeded();
    assertTrue(output.contains("created here"), output);
    assertTrue(output.contains("Leaks.main"), output);
  }
}
