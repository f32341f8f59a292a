package dev.verbena.docs;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sizes, defaults and counts of the guides are those of the code, and messages those of tests. */
@Tag("host")
class ValuesInPagesTest {
  /** The number of mistakes in the guide of which the library does not tell. */
  private static final int MOST_SILENT = 3;

  private static final Path PAGES = Path.of("docs");
  private static final Path TESTS = Path.of("src/test/java");
  private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");

  /**
   * What a page says of a value.
   *
   * @param words its words, with {@code #} for the value
   * @param value the value of the code
   */
  record Statement(String page, String words, long value) {}

  static Stream<Statement> statements() throws ReflectiveOperationException {
    return Stream.of(connections(), softwareDevices(), channels(), others()).flatMap(List::stream);
  }

  private static List<Statement> connections() throws ReflectiveOperationException {
    long rnrRetries = QueuePairAttributes.RNR_RETRY_COUNT;
    String background = "connecting-background";
    return List.of(
        new Statement("memory", "A `RemoteMemory` carries them in # bytes", RemoteMemory.SIZE),
        new Statement("connecting", "A->>B: # bytes, over TCP", QueuePairAddress.SIZE),
        new Statement("connecting", "B->>A: # bytes", QueuePairAddress.SIZE),
        new Statement("connecting", "size of a message: # bytes by default", DEFAULT.messageSize()),
        new Statement("connecting", "outstanding sends: # each by default", DEFAULT.receives()),
        new Statement("connecting", "outstanding sends: # each by default", DEFAULT.sends()),
        new Statement("connecting", "(`withCopies`, # MiB)", DEFAULT.copies() >> 20),
        new Statement(
            "connecting",
            "the timeout of the settings (# seconds by default)",
            DEFAULT.timeout().toSeconds()),
        new Statement(
            background, "the default retry count of # ", ConnectionParameters.DEFAULT.retryCount()),
        new Statement(
            background,
            "up to # connections share an event channel",
            constant("cm.EndpointChannel", "ENDPOINTS")),
        new Statement(background, "accept at most # requests", HalfOpenRequests.LIMIT),
        new Statement(background, "and # of one address;", HalfOpenRequests.LIMIT_OF_SOURCE),
        new Statement(background, "; # more wait,", HalfOpenRequests.WAITING),
        new Statement(
            background,
            "more wait, # of one address,",
            constant("internal.HalfOpenRequests", "WAITING_OF_SOURCE")),
        new Statement("errors", "the RNR retry count is #, which", rnrRetries),
        new Statement("errors", ". # is the default: with `queuePair.setup()", rnrRetries));
  }

  private static List<Statement> softwareDevices() throws ReflectiveOperationException {
    String background = "soft-device-background";
    long retries = constant("soft.cm.CmTimers", "RETRIES");
    return List.of(
        new Statement("soft-device", "gives up after # attempts", 1 + retries),
        new Statement(
            "soft-device",
            "yield the processor every # us",
            constant("soft.device.SoftCompletionQueue", "NANOS_WITHOUT_YIELD") / 1000),
        new Statement(background, "begins its # tries anew", retries),
        new Statement(
            background,
            "there are at most # connection requests",
            constant("soft.cm.CmQuota", "PER_SOURCE")),
        new Statement(
            background, "by the program, and # in all", constant("soft.cm.CmQuota", "IN_ALL")),
        new Statement(
            background,
            "wait: at most # for each queue pair",
            constant("soft.transport.WaitingRequests", "WINDOW")),
        new Statement(
            background,
            "queue pair, and # for all",
            constant("soft.wire.PacketPool", "MAX_WAITING")),
        new Statement(
            background, "The first # flow labels", constant("soft.wire.SourcePorts", "MAX")),
        new Statement(
            background, "sent up to # us later;", constant("soft.Faults", "REORDER_NANOS") / 1000),
        new Statement(
            background,
            "posted requests up to 0.# ms later",
            constant("soft.device.Delays", "START_NANOS") / 100_000),
        new Statement(
            background,
            "arrives up to 0.# ms late;",
            constant("soft.device.Delays", "COMPLETION_NANOS") / 100_000),
        new Statement(
            background,
            "in memory up to 0.# ms after",
            constant("soft.device.Delays", "PLACEMENT_NANOS") / 100_000),
        new Statement(
            "testing", "is run up to # times more", constant("soft.Shrinking", "MOST_RUNS")));
  }

  private static List<Statement> channels() throws ReflectiveOperationException {
    return List.of(
        new Statement(
            "sockets",
            "has been silent for # ms",
            constant("sockets.HybridConnect", "HEAD_START") / 1_000_000),
        new Statement("sockets", "At most # addresses", constant("sockets.SilentPeers", "MAX")),
        new Statement(
            "sockets",
            "as long, at most # seconds",
            constant("sockets.SilentPeers", "LONGEST") / 1_000_000_000),
        new Statement(
            "sockets",
            "memory of up to # connections that have ended",
            constant("sockets.RecycledMemory", "MOST")));
  }

  private static List<Statement> others() throws ReflectiveOperationException {
    return List.of(
        new Statement(
            "architecture", "At most # files in a package", Limit.FILES_IN_A_PACKAGE.largest()),
        new Statement(
            "architecture", "package, # lines in a class", Limit.LINES_OF_A_CLASS.largest()),
        new Statement("architecture", "# classes in a cycle.", Limit.CLASSES_IN_A_CYCLE.largest()),
        new Statement(
            "architecture", "At most # lines in the library", Limit.LINES_OF_THE_LIBRARY.largest()),
        new Statement(
            "architecture", "and # in the command line", Limit.LINES_OF_THE_COMMAND_LINE.largest()),
        new Statement(
            "data-path",
            "One call in # is plain",
            constant("internal.calls.Crossing", "PLAIN_EVERY")),
        new Statement(
            "threads",
            "up to # for each context: one",
            1 + constant("internal.ThreadDomains", "OWN")),
        new Statement("events", "up to the last #.", constant("verbs.DeviceEvents", "KEPT")),
        new Statement(
            "observability",
            "of failed completions # within a second",
            constant("internal.jfr.FailedCompletionEvent", "PER_SECOND")));
  }

  @ParameterizedTest
  @MethodSource("statements")
  void aStatementHasTheValueOfTheCode(Statement statement) throws IOException {
    String page = Files.readString(PAGES.resolve(statement.page() + ".md"));
    String number = "\\E([\\d,]+)\\Q";
    String words = "\\Q" + statement.words().replace("#", number) + "\\E";
    List<String> said =
        Pattern.compile(words)
            .matcher(page)
            .results()
            .map(found -> found.group(1).replace(",", ""))
            .toList();
    assertEquals(List.of(Long.toString(statement.value())), said);
  }

  /** A constant of a class below {@code dev.verbena}. */
  private static long constant(String type, String name) throws ReflectiveOperationException {
    Field field = Class.forName("dev.verbena." + type).getDeclaredField(name);
    field.setAccessible(true);
    return field.getLong(null);
  }

  /** The messages in the table of mistakes are asserted by the test of their row. */
  @Test
  void theMessageOfEachMistakeHasATest() throws IOException {
    String page = Files.readString(PAGES.resolve("errors.md"));
    String section = page.substring(page.indexOf("## Mistakes"), page.indexOf("## Tracing calls"));
    List<MatchResult> rows =
        Pattern.compile("(?m)^\\| .+ \\| (.+) \\| `(\\w+Test)` \\|$")
            .matcher(section)
            .results()
            .toList();
    long silent =
        Pattern.compile("(?m)^\\| .+ \\| nothing: .+ \\| \\|$").matcher(section).results().count();
    assertTrue(silent <= MOST_SILENT, () -> silent + " mistakes of which nothing tells");
    long header = 1;
    long all = section.lines().filter(line -> line.startsWith("| ")).count();
    assertEquals(all - header - silent, rows.size());
    for (MatchResult row : rows) {
      String test = source(row.group(2));
      List<String> messages =
          QUOTED.matcher(row.group(1)).results().map(found -> found.group(1)).toList();
      assertTrue(messages.stream().anyMatch(test::contains), row::group);
      for (String message : messages) {
        assertTrue(test.contains(message) || message.equals("toString"), message);
      }
    }
  }

  private static String source(String test) throws IOException {
    try (Stream<Path> files = Files.walk(TESTS)) {
      return Files.readString(
          files.filter(file -> file.endsWith(test + ".java")).findFirst().orElseThrow());
    }
  }
}
