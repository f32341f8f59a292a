package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Rig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.opentest4j.TestAbortedException;

/** A program of rdma-core's or perftest's that runs, and must end well. */
record CProgram(String name, Process process, Path output) implements AutoCloseable {
  private static final int PATIENCE_SECONDS = 60;

  static CProgram start(String... command) throws IOException {
    Path output = Files.createTempFile("program", ".log");
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(output.toFile())
              .start();
      return new CProgram(String.join(" ", command), process, output);
    } catch (IOException e) {
      if (Rig.labGuest().isPresent()) {
        throw e;
      }
      throw new TestAbortedException(command[0] + " is not installed", e);
    }
  }

  /** Runs a client, again as long as nobody listens at the other end; returns its output. */
  static String untilConnected(String... command) throws IOException, InterruptedException {
    for (int attempt = 0; ; attempt++) {
      try (CProgram client = start(command)) {
        if (attempt == 50 || client.exitStatus() == 0) {
          return client.endsWell();
        }
      }
      Thread.sleep(200);
    }
  }

  /** Waits for the end, which must come and be good; returns the output. */
  String endsWell() throws InterruptedException {
    assertEquals(0, exitStatus(), () -> name + ": " + text());
    return text();
  }

  private int exitStatus() throws InterruptedException {
    boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
    process.destroyForcibly();
    assertTrue(ended, () -> name + " does not end: " + text());
    return process.exitValue();
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
    process.destroyForcibly();
    Files.delete(output);
  }
}
