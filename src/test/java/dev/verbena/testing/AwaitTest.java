package dev.verbena.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Waits end with what they wait for, or when whoever runs the tests interrupts. */
class AwaitTest {
  /** Limits within which a slow machine may not do what a test waits for. */
  private static final Pattern LIMIT =
      Pattern.compile(
          "@Timeout\\(\\d+\\)|assertTimeout|orTimeout|[.](get|await)\\([^;]*, TimeUnit[.]"
              + "|[.]join\\(Duration[.]of(Seconds|Minutes)");

  @Test
  void returnsTheFirstValueThatIsNotNull() {
    Iterator<String> values = Stream.concat(Stream.of("", ""), Stream.of("there")).iterator();
    assertEquals(
        "there",
        Await.value(
            () -> "a value",
            () -> {
              String value = values.next();
              return value.isEmpty() ? null : value;
            }));
  }

  @Test
  void interruptEndsAWait() {
    Thread.currentThread().interrupt();
    AssertionError vain =
        assertThrows(AssertionError.class, () -> Await.until("the end of time", () -> false));
    assertTrue(Thread.interrupted());
    assertEquals("waited in vain: the end of time", vain.getMessage());
  }

  @Test
  void noTestHasALimitOfItsOwn() throws IOException {
    try (Stream<Path> sources = Files.walk(Path.of("src/test/java"))) {
      List<String> limits =
          sources
              .filter(file -> file.toString().endsWith(".java"))
              .filter(file -> !file.endsWith("AwaitTest.java"))
              .flatMap(AwaitTest::limits)
              .toList();
      assertEquals(List.of(), limits, "wait without a limit, or with Await.LIMIT");
    }
  }

  private static Stream<String> limits(Path file) {
    try {
      return LIMIT
          .matcher(Files.readString(file))
          .results()
          .map(limit -> file + ": " + limit.group().lines().findFirst().orElseThrow());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
