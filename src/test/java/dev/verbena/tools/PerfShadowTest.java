package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.verbs.Context;
import org.junit.jupiter.api.Test;

/** {@code perf shadow}: on mlx5 both data paths do the same, elsewhere the reason is printed. */
class PerfShadowTest {
  @DeviceTest
  void bothDataPathsAreComparedWhereTheyExist() {
    Run run = Run.of("perf", "shadow", "-d", Rig.a().name(), "-n", "200", "--seed", "7");
    String obstacle;
    try (Context context = Rig.a().open()) {
      obstacle = context.directObstacle().orElse("");
    }
    if (!obstacle.isEmpty()) {
      assertTrue(run.status() != 0, run.out());
      assertTrue(run.err().contains(obstacle), run.err());
    } else if ("auto".equals(System.getProperty("dev.verbena.direct"))) {
      assertTrue(run.err().contains("-Ddev.verbena.direct: do not set it"), run.err());
    } else {
      assertEquals("", run.err());
      assertTrue(
          run.out()
              .matches(
                  "200 rounds of five requests are equal. Medians of a round: provider library"
                      + " [0-9.]+ us, direct [0-9.]+ us\\R"),
          run.out());
    }
  }

  @Test
  void wrongUsageIsTwo() {
    assertEquals(2, Run.of("perf", "shadow", "-n", "0").status());
    assertEquals(2, Run.of("perf", "shadow", "somewhere").status());
  }
}
