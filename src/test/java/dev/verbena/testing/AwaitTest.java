package dev.verbena.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
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

  private static final Pattern SLEEP = Pattern.compile("Thread[.]sleep\\([^;]*;");

  private static final Set<String> EXEMPT = Set.of("Await.java", "AwaitTest.java", "Leaks.java");

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
    assertEquals(List.of(), occurrences(LIMIT), "wait without a limit, or with Await.LIMIT");
  }

  /** Occurrences in tests; one program of them knows no test library. */
  private static List<String> occurrences(Pattern pattern) throws IOException {
    try (Stream<Path> sources = Files.walk(Path.of("src/test/java"))) {
      return sources
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> !EXEMPT.contains(file.getFileName().toString()))
          .filter(file -> !isProgram(file))
          .flatMap(file -> occurrences(pattern, file))
          .toList();
    }
  }

  /** A program for users, as in its manual page, which does not use the test library. */
  private static boolean isProgram(Path file) {
    return file.getParent().endsWith("programs") && !file.toString().endsWith("Test.java");
  }

  @Test
  void noTestSleeps() throws IOException {
    assertEquals(List.of(), occurrences(SLEEP), "use Await, or Await.pass with the reason");
  }

  @Test
  void aThreadThatWaitsIsSeen() throws InterruptedException {
    CountDownLatch end = new CountDownLatch(1);
    for (Thread.Builder kind : new Thread.Builder[] {Thread.ofPlatform(), Thread.ofVirtual()}) {
      Thread thread =
          kind.start(
              () -> {
                try {
                  end.await();
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              });
      Await.waits(thread);
      assertEquals(Thread.State.WAITING, thread.getState());
    }
    end.countDown();
  }

  @Test
  void attemptsAreRepeatedUntilOneSucceeds() throws InterruptedException {
    Iterator<String> values = Stream.concat(Stream.of(""), Stream.of("there")).iterator();
    assertEquals(
        "there",
        Await.attempt(
            "a value",
            () -> {
              String value = values.next();
              return value.isEmpty() ? null : value;
            }));
  }

  private static Stream<String> occurrences(Pattern pattern, Path file) {
    try {
      return pattern
          .matcher(Files.readString(file))
          .results()
          .map(found -> file + ": " + found.group().lines().findFirst().orElseThrow());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
