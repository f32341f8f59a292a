package dev.verbena.lab;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Shows the lab that tests begin and end, by changes of the file that it watches, and prints which
 * classes took long. A run in which no test begins or ends for too long is ended by the lab.
 */
final class ShownProgress implements TestExecutionListener {
  private static final Optional<Path> WATCHED =
      Optional.ofNullable(System.getenv("VERBENA_LAB_PROGRESS")).map(Path::of);

  private static final Duration LONG = Duration.ofSeconds(5);

  private final Map<String, Instant> started = new HashMap<>();
  private final PrintWriter out;

  ShownProgress(PrintWriter out) {
    this.out = out;
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    started.put(test.getUniqueId(), Instant.now());
    show("began " + test.getUniqueId());
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    show("ended " + test.getUniqueId());
    Duration took = Duration.between(started.remove(test.getUniqueId()), Instant.now());
    if (took.compareTo(LONG) >= 0 && test.getSource().orElse(null) instanceof ClassSource type) {
      String name = type.getClassName().replaceFirst(".*\\.", "");
      out.println("%6.1f s  %s".formatted(took.toMillis() / 1000.0, name));
    }
  }

  /** Whether the lab watches the file: not outside of a guest. */
  static boolean isWatched() {
    return WATCHED.isPresent();
  }

  private static void show(String event) {
    WATCHED.ifPresent(
        file -> {
          try {
            Files.writeString(file, event + "\n");
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }
}
