package dev.verbena.internal.mlx5;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.Need.JVMS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.raw.ibv_qp;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.opentest4j.TestAbortedException;

/**
 * The direct data path writes what libmlx5 writes, and reads what it reads: {@link Differential},
 * in a JVM of its own, as only there the emulated NIC is in step mode. {@code
 * -Dverbena.differential=COUNT} and {@code -Dverbena.differential.seed=SEED} select other numbers.
 */
@Needs(JVMS)
@On(MLX5)
class DifferentialTest {
  private static final long REQUESTS = Long.getLong("verbena.differential", 200_000);
  private static final long SEED = Long.getLong("verbena.differential.seed", 20_261_123);

  @DeviceTest
  void javaWritesAndReadsTheQueuesAsLibmlx5() {
    if (System.getenv("VERBENA_NIC") == null || !Rig.a().name().startsWith("mlx5")) {
      throw new TestAbortedException("needs the queues of the emulated mlx5");
    }
    String output =
        new ForkedJvm()
            .withNativeAccess()
            .withJarOf(ibv_qp.class)
            .withVariable("VERBENA_NIC_STEP", "1")
            .run(Differential.class, Long.toString(SEED), Long.toString(REQUESTS))
            .succeeded();
    assertTrue(count(output, "requests") >= REQUESTS, output);
    // What a sequence of this length contains.
    for (String what :
        new String[] {
          "resets",
          "races",
          "armed after event",
          "armed without event",
          "inline",
          "copies",
          "eight bytes",
          "full queues",
          "completions WR_FLUSH_ERR",
          "completions LOC_LEN_ERR",
          "completions REM_ACCESS_ERR",
          "SEND_WITH_INV",
          "UD lists"
        }) {
      assertTrue(count(output, what) > 0, () -> "no " + what + ": " + output);
    }
    assertEquals(1, output.lines().filter(line -> line.startsWith("seed " + SEED)).count());
  }

  private static long count(String output, String what) {
    String pattern = what.equals("requests") ? "(\\d+) requests" : what + "=(\\d+)";
    Matcher matcher = Pattern.compile(pattern).matcher(output);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
  }
}
