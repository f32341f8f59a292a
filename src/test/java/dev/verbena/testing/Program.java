package dev.verbena.testing;

import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.opentest4j.TestAbortedException;

/**
 * A program that runs beside the test, in its network namespace or in another one. Waiting for it
 * has no time limit: whoever runs the tests notices that none ends, and interrupts.
 */
public record Program(String name, Process process, Path output) implements AutoCloseable {
  /** Starts a program, which must be installed in the lab; elsewhere the test ends without it. */
  public static Program start(List<String> command) throws IOException {
    try {
      return start(new ProcessBuilder(command));
    } catch (IOException e) {
      if (Rig.labGuest().isPresent()) {
        throw e;
      }
      throw new TestAbortedException(command.getFirst() + " is not installed", e);
    }
  }

  /** Starts a program that must be installed. */
  public static Program start(ProcessBuilder builder) throws IOException {
    Path output = Files.createTempFile("program", ".log");
    try {
      Process process = builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
      process.getOutputStream().close();
      return new Program(String.join(" ", builder.command()), process, output);
    } catch (IOException e) {
      Files.delete(output);
      throw e;
    }
  }

  /** Starts a program. */
  public static Program start(String... command) throws IOException {
    return start(List.of(command));
  }

  /** Runs a client, again until the server listens; returns its output. */
  public static String untilConnected(CompletableFuture<?> server, String... command)
      throws IOException, InterruptedException {
    while (true) {
      boolean isLast = server.isDone();
      try (Program client = start(command)) {
        if (client.exitStatus() == 0) {
          return client.text();
        }
        assertFalse(isLast, () -> client.name + ": " + client.text() + server);
      }
      Await.pass(Duration.ofMillis(200), "nobody listens yet");
    }
  }

  /** A command with more arguments. */
  public static List<String> with(List<String> command, String... more) {
    return Stream.concat(command.stream(), Stream.of(more)).toList();
  }

  /**
   * A JVM with this one's class path, which also has what is on this one's module path. In a guest
   * it interprets only: beside other guests, code that C1 compiles costs QEMU more than it saves in
   * a program that ends soon. Elsewhere C1 saves two fifths of the processor time.
   */
  public static List<String> java(Class<?> main, String... arguments) {
    String compiler = Rig.labGuest().isPresent() ? "-Xint" : "-XX:TieredStopAtLevel=1";
    return java(List.of(compiler), main, arguments);
  }

  /** The same, with these options of the JVM. */
  public static List<String> java(List<String> options, Class<?> main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-XX:+UseSerialGC");
    String archive = System.getProperty("verbena.lab.archive");
    if (archive != null) { // Of all classes: loading them takes seconds in a guest.
      command.addAll(List.of("-XX:SharedArchiveFile=" + archive, "-Xlog:disable"));
    }
    command.addAll(options);
    command.addAll(List.of("-cp", path(), main.getName()));
    command.addAll(List.of(arguments));
    return command;
  }

  private static String path() {
    return Stream.of("java.class.path", "jdk.module.path")
        .map(System::getProperty)
        .filter(Objects::nonNull)
        .collect(joining(File.pathSeparator));
  }

  /** Waits until the program has said something. */
  public void says(String words) throws InterruptedException {
    try {
      while (!text().contains(words)) {
        boolean alive = process.isAlive();
        assertTrue(alive || text().contains(words), () -> name + " ended: " + text());
        Await.pass(Duration.ofMillis(20), "the program prints");
      }
    } catch (InterruptedException e) {
      throw hangs("does not print " + words, e);
    }
  }

  /** Waits until the program has ended, with exit status 0; returns its output. */
  public String endsWell() throws InterruptedException {
    assertEquals(0, exitStatus(), () -> name + ": " + text());
    return text();
  }

  /**
   * Waits until the program has ended, with exit status 0, and fails at once if its peer fails: C's
   * programs then wait for ever. Returns its output.
   */
  public String endsWellBeside(Program peer) throws InterruptedException {
    while (process.isAlive() && (peer.process.isAlive() || peer.process.exitValue() == 0)) {
      Await.pass(Duration.ofMillis(20), "the program ends");
    }
    if (!peer.process.isAlive()) {
      assertEquals(0, peer.process.exitValue(), () -> peer.name + ": " + peer.text());
    }
    return endsWell();
  }

  /** Waits until the program has ended; returns its exit status. */
  public int exitStatus() throws InterruptedException {
    try {
      return process.waitFor();
    } catch (InterruptedException e) {
      throw hangs("does not end", e);
    }
  }

  /** By whoever runs the tests, after a time in which no test has ended. */
  private InterruptedException hangs(String how, InterruptedException cause) {
    var hangs = new InterruptedException(name + " " + how + ": " + text());
    hangs.initCause(cause);
    return hangs;
  }

  public boolean hasEnded() {
    return !process.isAlive();
  }

  /** kill -9. */
  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** What it has said so far. */
  public String text() {
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
