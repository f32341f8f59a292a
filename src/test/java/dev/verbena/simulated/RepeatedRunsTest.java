package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.commons.util.ReflectionUtils;
import org.opentest4j.AssertionFailedError;

/**
 * A seed gives the same capture file, with packets and steps of threads, in each JVM: whichever
 * compiler it has, and whatever ran before.
 */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class RepeatedRunsTest {
  private static final String SEED = "dev.verbena.simulation.seed";
  private static final String CAPTURE = "dev.verbena.soft.capture";

  /** With a seed, its remainder decides which of them is run. */
  private static final List<Runnable> SCENARIOS =
      List.of(
          new QueuePairScenariosTest()::requestsOverReliableConnections,
          new QueuePairScenariosTest()::requestsOverScalableReliableDatagrams,
          new ConnectScenariosTest()::everyRequestEndsAndNothingRemains,
          new MessageScenariosTest()::whatIsSentArrivesOnceInOrder,
          new RequestScenariosTest()::eachCallHasItsAnswerAndLeavesItsPlace,
          new StreamScenariosTest()::callsReturnWhenAnEndIsClosedOrInterrupted,
          new StreamScenariosTest()::callsReturnWhenAHostIsLost);

  /** Prints a digest of the capture file of each seed. */
  static final class Digests {
    private Digests() {}

    public static void main(String[] args) throws IOException {
      Path folder = Path.of(System.getProperty(CAPTURE));
      boolean isForward = Boolean.parseBoolean(args[0]);
      int seeds = Integer.parseInt(args[1]);
      for (int i = 0; i < seeds; i++) {
        int seed = isForward ? i : seeds - 1 - i;
        System.setProperty(SEED, Integer.toString(seed));
        SCENARIOS.get(seed % SCENARIOS.size()).run();
        System.out.println(seed + " " + digest(folder));
      }
    }

    private static String digest(Path folder) throws IOException {
      StringBuilder digests = new StringBuilder();
      try (var files = Files.newDirectoryStream(folder)) {
        for (Path file : files) {
          CRC32C digest = new CRC32C();
          digest.update(Files.readAllBytes(file));
          digests.append(digest.getValue());
          Files.delete(file);
        }
      }
      return digests.toString();
    }
  }

  private static List<String> digests(Path folder, boolean isForward, String compiler) {
    String output =
        new ForkedJvm()
            .with("-XX:+UseSerialGC", "--add-opens=java.base/java.lang=ALL-UNNAMED", compiler)
            .with("-D" + CAPTURE + "=" + folder)
            .withNativeAccess()
            .withJarOf(Assertions.class)
            .withJarOf(ReflectionUtils.class)
            .withJarOf(AssertionFailedError.class)
            .run(Digests.class, Boolean.toString(isForward), Integer.toString(seeds()))
            .succeeded();
    List<String> lines = output.lines().filter(line -> line.matches("\\d+ \\d+")).toList();
    return isForward ? lines : lines.reversed();
  }

  private static int seeds() {
    return Seeds.of(SCENARIOS.size());
  }

  @Test
  void aSeedGivesTheSamePacketsAndStepsInAnotherJvm(@TempDir Path folder) {
    List<String> expected = digests(folder, true, "-XX:TieredStopAtLevel=1");
    assertEquals(seeds(), expected.stream().map(line -> line.split(" ", 2)[1]).distinct().count());
    List<String> differing = new ArrayList<>();
    for (String compiler : List.of("-XX:-TieredCompilation", "-Xint")) {
      List<String> digests = digests(folder, false, compiler);
      assertEquals(seeds(), digests.size());
      for (int seed = 0; seed < seeds(); seed++) {
        if (!digests.get(seed).equals(expected.get(seed))) {
          differing.add(compiler + " " + digests.get(seed) + ", not " + expected.get(seed));
        }
      }
    }
    assertTrue(differing.isEmpty(), () -> differing.toString());
  }
}
