package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.messages.ConnectionSettings;
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
    long attempts = 1L + constant("dev.verbena.soft.cm.CmTimers", "RETRIES");
    long rnrRetries = QueuePairAttributes.RNR_RETRY_COUNT;
    return Stream.of(
        new Statement("memory", "`RemoteMemory` carries them in # bytes", RemoteMemory.SIZE),
        new Statement("connecting", "A->>B: # bytes, over TCP", QueuePairAddress.SIZE),
        new Statement("connecting", "B->>A: # bytes", QueuePairAddress.SIZE),
        new Statement(
            "connecting",
            "the default retry count of # ",
            ConnectionParameters.DEFAULT.retryCount()),
        new Statement(
            "connecting",
            "the timeout of the settings (# seconds by default)",
            ConnectionSettings.DEFAULT.timeout().toSeconds()),
        new Statement(
            "connecting",
            "up to # connections share an event channel",
            constant("dev.verbena.cm.EndpointChannel", "ENDPOINTS")),
        new Statement("errors", "the RNR retry count is #, which", rnrRetries),
        new Statement("errors", ". # is the default: with `queuePair.setup()", rnrRetries),
        new Statement("soft-device", "gives up after # attempts", attempts));
  }

  @ParameterizedTest
  @MethodSource("statements")
  void aStatementHasTheValueOfTheCode(Statement statement) throws IOException {
    String page = Files.readString(PAGES.resolve(statement.page() + ".md"));
    String number = "\\E(\\d+)\\Q";
    String words = "\\Q" + statement.words().replace("#", number) + "\\E";
    List<String> said =
        Pattern.compile(words).matcher(page).results().map(found -> found.group(1)).toList();
    assertEquals(List.of(Long.toString(statement.value())), said);
  }

  private static int constant(String type, String name) throws ReflectiveOperationException {
    Field field = Class.forName(type).getDeclaredField(name);
    field.setAccessible(true);
    return field.getInt(null);
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
    // Without the header, and the row of the mistake of which nothing tells.
    assertEquals(section.lines().filter(line -> line.startsWith("| ")).count() - 2, rows.size());
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
