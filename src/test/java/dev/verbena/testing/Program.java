package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.opentest4j.TestAbortedException;

/** A program that runs beside the test, in its network namespace or in another one. */
record Program(String name, Process process, Path output) implements AutoCloseable {
  private static final int PATIENCE_SECONDS = 60;

  static Program start(List<String> command) throws IOException {
    Path output = Files.createTempFile("program", ".log");
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(output.toFile())
              .start();
      return new Program(String.join(" ", command), process, output);
    } catch (IOException e) {
      throw new TestAbortedException(command.getFirst() + " is not installed", e);
    }
  }

  /** A command with more arguments. */
  static List<String> with(List<String> command, String... more) {
    return Stream.concat(command.stream(), Stream.of(more)).toList();
  }

  /** A JVM with this one's class path. */
  static List<String> java(Class<?> main, String... arguments) {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    List<String> jvm =
        List.of(java, "--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1");
    return with(with(jvm, "-cp", System.getProperty("java.class.path"), main.getName()), arguments);
  }

  /** Waits until the program has said something. */
  void says(String words) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!text().contains(words)) {
      assertTrue(process.isAlive(), () -> name + " ended: " + text());
      assertTrue(System.nanoTime() < end, () -> name + " does not say " + words + ": " + text());
      Thread.sleep(20);
    }
  }

  /** Waits until the program has ended, with exit status 0. */
  String endsWell() throws InterruptedException {
    boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
    assertTrue(ended, () -> name + " does not end: " + text());
    assertEquals(0, process.exitValue(), () -> name + ": " + text());
    return text();
  }

  /** kill -9. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  String text() {
    try {
      return Files.readString(output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly().onExit().join();
    Files.delete(output);
  }
}
