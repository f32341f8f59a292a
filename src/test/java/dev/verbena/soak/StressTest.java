package dev.verbena.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.testing.ForkedJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import joptsimple.OptionParser;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.openjdk.jcstress.Main;

/**
 * Runs the tests of the folder {@code stress} with jcstress: no result of threads that is forbidden
 * occurs, and no thread waits for ever. {@code -Dverbena.stress=SECONDS} is how long each runs with
 * each compiler. The reports are in {@code target/stress}.
 */
@Tag("slow")
class StressTest {
  private static final int SECONDS = Integer.getInteger("verbena.stress", 1);

  private static final Pattern ALL_PASSED =
      Pattern.compile("Results: (\\d+) planned; \\1 passed, 0 failed, 0 soft errs, 0 hard errs");

  private static final Pattern TEST = Pattern.compile("(?m)^ *@JCStressTest");

  @ParameterizedTest
  @CsvSource({
    "c1, -XX:TieredStopAtLevel=1",
    "c2, -XX:-TieredCompilation -XX:+UnlockDiagnosticVMOptions -XX:+StressLCM -XX:+StressGCM"
  })
  @Timeout(value = 1, unit = TimeUnit.HOURS) // All tests of a compiler, on a busy machine.
  void nothingForbiddenOccurs(String compiler, String options) throws IOException {
    assumeTrue(
        Runtime.getRuntime().availableProcessors() > 1,
        "a test with two threads needs two processors");
    Path folder = Files.createDirectories(Path.of("target/stress", compiler));
    String output =
        new ForkedJvm()
            .in(folder)
            .with("-XX:+UseSerialGC")
            .withNativeAccess()
            .withJarOf(Main.class)
            .withJarOf(OptionParser.class)
            .run(
                Main.class,
                "-jvmArgs",
                options,
                "-sc", // One compiler for all threads of a test.
                "false",
                "-iters",
                "1",
                "-time",
                Integer.toString(1000 * SECONDS),
                // Few states, since each of some tests takes the threads many turns.
                "-strideSize",
                "16",
                "-strideCount",
                "1",
                "-r",
                "report")
            .succeeded();
    Matcher passed = ALL_PASSED.matcher(output);
    assertTrue(passed.find(), output);
    // Its processor lists only what one run of the compiler compiled.
    assertEquals(tests(), Long.parseLong(passed.group(1)), "tests were left out: mvn clean");
  }

  private static long tests() throws IOException {
    try (Stream<Path> sources = Files.walk(Path.of("stress"))) {
      long tests = 0;
      for (Path source : sources.filter(path -> path.toString().endsWith(".java")).toList()) {
        tests += TEST.matcher(Files.readString(source)).results().count();
      }
      return tests;
    }
  }
}
