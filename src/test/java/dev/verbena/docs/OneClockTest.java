package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The library has its clock from one class, so that a simulation can take its place. */
@Tag("host")
class OneClockTest {
  private static final Path LIBRARY = Path.of("src/main/java/dev/verbena");
  private static final Path CLOCK = Path.of("internal/time/Time.java");

  /** What reads the clock of the machine, waits by it, or is random. */
  private static final Pattern OF_MACHINE =
      Pattern.compile(
          "\\bnanoTime\\(\\)|currentTimeMillis|(Instant|Clock|LocalDateTime)\\.(now|system)|Thread\\.(sleep|onSpinWait|yield|ofPlatform)|new"
              + " Thread\\(|new Timer\\(\\)"
              + "|park(Nanos|Until)|await(Nanos|Until)|(?<!Time)\\.wait\\(\\w|completeOnTimeout|or[T]imeout|delayedExecutor|Scheduled|,"
              + " (TimeUnit\\.)?(NANO|MICRO|MILLI)?SECONDS\\)"
              + "|TimeUnit\\.\\w+\\.(sleep|timedWait|timedJoin)|\\.join\\((limit|Duration)"
              + "|(?<!Time\\.random\\()(ThreadLocalRandom\\.current|RandomGenerator\\.getDefault)|new"
              + " Random\\(\\)|Math\\.random|UUID\\.random|RANDOM\\.next");

  /** Lines that may, with the reason. */
  private static final Map<String, String> PERMITTED =
      Map.of(
          "internal/jfr/FailedCompletionEvent.java: nanoTime()", "counts for the whole JVM",
          "internal/io/Poller.java: Thread.ofPlatform", "not started by a simulation",
          "sockets/ClosingConnections.java: , TimeUnit.NANOSECONDS)", "runs when the JVM ends",
          "internal/Departures.java: new Thread(", "runs when the JVM ends",
          "soft/MonitorWaits.java: Thread.onSpinWait", "waits for a thread of the JVM",
          "soft/MonitorWaits.java: parkNanos", "waits for a thread of the JVM",
          "internal/mlx5/QueueLock.java: Thread.onSpinWait",
              "the owner is in a section, for a store",
          "internal/mlx5/QueueLock.java: Thread.yield", "the owner is in a section, for a store",
          "internal/mlx5/SpinLock.java: Thread.onSpinWait", "holds a lock of libmlx5, for a store",
          "internal/mlx5/SpinLock.java: Thread.yield", "holds a lock of libmlx5, for a store");

  @Test
  void nothingElseOfTheLibraryReadsTheClockOfTheMachine() throws IOException {
    List<String> found = new ArrayList<>();
    try (Stream<Path> files = Files.walk(LIBRARY)) {
      for (Path file : files.filter(OneClockTest::isChecked).sorted().toList()) {
        found.addAll(usesIn(file));
      }
    }
    assertEquals(
        PERMITTED.keySet().stream().sorted().toList(), found.stream().distinct().sorted().toList());
  }

  private static boolean isChecked(Path file) {
    return file.toString().endsWith(".java") && !LIBRARY.relativize(file).equals(CLOCK);
  }

  private static List<String> usesIn(Path file) throws IOException {
    return Files.readString(file)
        .lines()
        .filter(line -> !line.strip().startsWith("*") && !line.startsWith("import "))
        .flatMap(line -> OF_MACHINE.matcher(line).results())
        .map(match -> LIBRARY.relativize(file) + ": " + match.group())
        .toList();
  }
}
