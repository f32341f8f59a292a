package dev.verbena.fuzz;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Once;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random calls of the whole public API, from several threads. {@code -Dverbena.fuzz.minutes=30}
 * runs longer; {@link Fuzz} runs a given seed again.
 */
@Once(
    value = TRIXIE,
    reason = "arguments that Java code checks; the calls that pass are those of other tests")
class FuzzTest {
  private static final String MINUTES = "verbena.fuzz.minutes";
  private static final Duration SHORT_IN_SOFTWARE = Duration.ofSeconds(6);
  private static final Duration SHORT_ON_DEVICE = Duration.ofSeconds(25);

  /** The short run makes the same calls each time, as far as threads do; the long one others. */
  private static final String SHORT_SEED = "2026";

  private static final int LEAST_IN_SOFTWARE = 2_000;
  private static final int LEAST_ON_DEVICE = 500;

  private static RunOptions options(FuzzedDevices devices, Duration usual, int least) {
    Integer minutes = Integer.getInteger(MINUTES);
    return minutes != null
        ? RunOptions.of(devices, Duration.ofMinutes(minutes))
        : RunOptions.parse(
            List.of(
                devices.toString(),
                "--seconds",
                Long.toString(usual.toSeconds()),
                "--least-calls",
                Integer.toString(least),
                "--seed",
                SHORT_SEED));
  }

  private static void assertClean(RunOptions options) throws Exception {
    Fuzz.Result result = Fuzz.run(options);
    assertTrue(result.isClean(), result::output);
    System.out.println(result.output());
  }

  @Test
  @Timeout(Integer.MAX_VALUE)
  void findsNothingOnSoftwareDevices() throws Exception {
    assertClean(options(FuzzedDevices.SOFT, SHORT_IN_SOFTWARE, LEAST_IN_SOFTWARE));
  }

  @DeviceTest
  @Timeout(Integer.MAX_VALUE)
  @Needs(CM)
  @On(value = SOFT_ROCE, reason = "findsNothingOnSoftwareDevices is the same on software devices")
  void findsNothingOnDevices() throws Exception {
    RunOptions options = options(FuzzedDevices.ofEnvironment(), SHORT_ON_DEVICE, LEAST_ON_DEVICE);
    Fuzz.Result result = Fuzz.run(options);
    if (result.output().contains("SIGILL")) {
      // An emulated processor that runs code while it is changed, as JVMs do. Once more.
      System.out.println(result.output());
      result = Fuzz.run(options);
    }
    assertTrue(result.isClean(), result::output);
  }

  @ParameterizedTest
  @CsvSource({
    "crash, 'SIGSEGV', 'Planted$Crash.read('",
    "hang, 'HANG of thread', 'Planted$Hang.forEver'",
    "hang, 'fuzz-1\" virtual', 'fuzz-3\" virtual'",
    "internal, 'never to be thrown: ArithmeticException', 'Planted$Internal.overflow('",
    "leak, 'left open', 'protection domain='"
  })
  @Tag("slow")
  void findsWhatIsPlanted(String defect, String kind, String call) throws Exception {
    RunOptions planted =
        RunOptions.of(FuzzedDevices.SOFT, Duration.ofSeconds(3)).withPlanted(defect);
    Fuzz.Result result = Fuzz.run(planted);
    assertFalse(result.isClean(), result::output);
    assertTrue(result.output().contains(kind), result::output);
    assertTrue(result.output().contains(call), result::output);
  }

  @Test
  void exclusionsAreOfMethodsThatExist() {
    assertEquals(Set.of(), new Surface().staleExclusions());
  }
}
