package dev.verbena.tools;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.qualify.Redaction;
import dev.verbena.tools.qualify.Report;
import dev.verbena.verbs.Context;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

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
                  "200 rounds of five requests are equal. Medians of a round:\\R"
                      + "shadow mode, one list: Java [0-9.]+ us\\R"
                      + "shadow mode, one list: Java, direct [0-9.]+ us\\R"
                      + "shadow mode, one request per post: Java [0-9.]+ us\\R"
                      + "shadow mode, one request per post: Java, direct [0-9.]+ us\\R"
                      + "shadow mode, session: Java [0-9.]+ us\\R"
                      + "shadow mode, session: Java, direct [0-9.]+ us\\R"),
          run.out());
      Run one = Run.of("perf", "shadow", "-d", Rig.a().name(), "-n", "1").succeeded();
      assertTrue(one.out().startsWith("1 round of five requests is equal."), one.out());
      assertEquals(3, one.out().lines().count(), "only the times of forms that have run");
    }
  }

  /** Not one of the parts that have not run, which few people read. */
  @DeviceTest
  @On(MLX5)
  void aFailureIsAProblemOfTheReport(@TempDir Path folder) {
    try (Context context = Rig.a().open()) {
      if (context.directObstacle().isPresent()) {
        throw new TestAbortedException("needs the direct data path");
      }
    }
    Report report = new Report(folder.resolve("report"), new Redaction(Map.of()), "", "", true);
    DeviceOptions options = new DeviceOptions();
    options.gidIndex(255);
    IllegalStateException e =
        assertThrows(
            IllegalStateException.class, () -> DataPathChild.run(Rig.a(), options, 10, report));
    assertTrue(e.getMessage().contains("shadow mode failed: "), e.getMessage());
  }

  @Test
  void wrongUsageIsTwo() {
    assertEquals(2, Run.of("perf", "shadow", "-n", "0").status());
    assertEquals(2, Run.of("perf", "shadow", "-n", "2000000000").status());
    assertEquals(2, Run.of("perf", "shadow", "somewhere").status());
  }
}
