package dev.verbena.sockets;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toSet;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.verbena.testing.Await;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/**
 * Netty's own tests of socket channels ({@code io.netty:netty-testsuite}) pass over channels of
 * RDMA, over those that are RDMA or TCP, and beside them over those of the JDK, each in a JVM of
 * its own. {@code netty.tsv} lists the tests that do otherwise, with the reasons. The address of
 * the software device, over UDP, is the one that these tests use.
 *
 * <p>{@code target/netty} has the report, and what each JVM printed. {@code -Dverbena.netty.tls=1}
 * runs all cases of {@code SocketSslEchoTest}; otherwise one of seven runs.
 */
@Tag("slow")
class NettySuiteTest {
  private static final Path FOLDER = Path.of("target/netty");
  private static final Path EXPECTED = Path.of("src/test/resources/netty.tsv");
  private static final String TLS_STEP = System.getProperty("verbena.netty.tls", "7");
  private static final String PASSED = "SUCCESSFUL";

  /** The channels that a JVM opens by default. */
  private record Channels(String name, String... options) {
    static final List<Channels> ALL =
        List.of(
            new Channels("jdk"),
            new Channels("rdma", provider(RdmaSelectorProvider.class), device()),
            new Channels(
                "hybrid",
                provider(HybridSelectorProvider.class),
                device(),
                // No connection is TCP because the machine is busy.
                "-Ddev.verbena.sockets.fallback=" + Await.LIMIT.toMillis()));

    private static String provider(Class<?> type) {
      return "-Djava.nio.channels.spi.SelectorProvider=" + type.getName();
    }

    private static String device() {
      return "-Ddev.verbena.soft=udp:127.0.0.1:" + Ports.free();
    }

    Path results() {
      return FOLDER.resolve(name + ".tsv");
    }

    Program start() throws IOException {
      Files.deleteIfExists(results());
      List<String> all = new ArrayList<>(List.of(options));
      all.add("-XX:TieredStopAtLevel=1");
      all.add("-ea:io.netty...");
      all.add("-Djava.net.preferIPv4Stack=true"); // Netty then uses 127.0.0.1, not ::1.
      all.add("--add-exports=java.base/sun.nio.ch=ALL-UNNAMED");
      return Program.start(
          new ProcessBuilder(
              Program.java(all, NettySuiteMain.class, results().toString(), TLS_STEP)));
    }

    void end(Program program) throws Exception {
      try {
        program.endsWell();
      } finally {
        Files.writeString(FOLDER.resolve(name + ".log"), program.text());
      }
    }
  }

  /** What a test did. */
  private record Result(String channels, String test, String outcome, String message) {}

  /** What a test does other than pass. */
  private record Expected(
      String channels, String test, String outcome, String message, String reason) {
    boolean isOf(Result result) {
      return (channels.equals("all") || channels.equals(result.channels))
          && test.equals(result.test);
    }
  }

  private static List<String[]> rows(Path file) throws IOException {
    return Files.readAllLines(file).stream()
        .filter(line -> !line.startsWith("#"))
        .map(line -> line.split("\t"))
        .toList();
  }

  private static List<Result> results() throws Exception {
    Files.createDirectories(FOLDER);
    List<Result> results = new ArrayList<>();
    try (Program jdk = Channels.ALL.get(0).start();
        Program rdma = Channels.ALL.get(1).start();
        Program hybrid = Channels.ALL.get(2).start()) {
      List<Program> programs = List.of(jdk, rdma, hybrid);
      for (int i = 0; i < programs.size(); i++) {
        Channels channels = Channels.ALL.get(i);
        channels.end(programs.get(i));
        for (String[] row : rows(channels.results())) {
          results.add(new Result(channels.name, row[0], row[1], row[2]));
        }
      }
    }
    return results;
  }

  private static String report(List<Result> results, List<Expected> list) {
    StringBuilder report = new StringBuilder();
    new TreeMap<>(results.stream().collect(groupingBy(Result::channels)))
        .forEach(
            (channels, all) ->
                report.append(
                    "%s: %s%n"
                        .formatted(
                            channels,
                            new TreeMap<>(
                                all.stream().collect(groupingBy(Result::outcome, counting()))))));
    for (Result result : results) {
      if (!result.outcome.equals(PASSED)) {
        String reason =
            expected(result, list).map(Expected::reason).orElse("not expected: " + result.message);
        report.append(
            "%s %s %s: %s%n".formatted(result.outcome, result.channels, result.test, reason));
      }
    }
    return report.toString();
  }

  private static Map<String, Set<String>> testsOf(List<Result> results) {
    return results.stream().collect(groupingBy(Result::channels, mapping(Result::test, toSet())));
  }

  private static Optional<Expected> expected(Result result, List<Expected> list) {
    return list.stream().filter(line -> line.isOf(result)).findFirst();
  }

  @TestFactory
  @Timeout(value = 1, unit = TimeUnit.HOURS) // Netty's tests together take minutes.
  List<DynamicTest> testsOfNettyDoWhatIsExpected() throws Exception {
    List<Expected> list =
        rows(EXPECTED).stream()
            .map(row -> new Expected(row[0], row[1], row[2], row[3], row[4]))
            .toList();
    List<Result> results = results();
    String report = report(results, list);
    System.out.print(report);
    Files.writeString(FOLDER.resolve("report.txt"), report);
    List<DynamicTest> tests = new ArrayList<>();
    for (Result result : results) {
      tests.add(
          dynamicTest(
              result.channels + " " + result.test,
              () -> assertExpected(result, expected(result, list))));
    }
    tests.add(
        dynamicTest(
            "all channels have run the same tests",
            () -> assertEquals(1, new HashSet<>(testsOf(results).values()).size(), report)));
    for (Expected line : list) {
      tests.add(
          dynamicTest(
              "expected: " + line.test,
              () -> assertTrue(results.stream().anyMatch(line::isOf), "no such test")));
    }
    return tests;
  }

  private static void assertExpected(Result result, Optional<Expected> expected) {
    String outcome = expected.map(Expected::outcome).orElse(PASSED);
    if (outcome.equals("MAY_FAIL")) {
      if (result.outcome.equals(PASSED)) {
        return;
      }
      outcome = "FAILED";
    }
    assertEquals(outcome, result.outcome, () -> result + " is not what " + EXPECTED + " says");
    String message = expected.map(Expected::message).orElse("");
    assertTrue(
        Arrays.stream(message.split("\\|", -1)).anyMatch(result.message::contains),
        () -> result + " without: " + message);
  }
}
