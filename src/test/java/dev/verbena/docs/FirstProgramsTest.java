package dev.verbena.docs;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.samples.FirstConnection;
import dev.verbena.samples.FirstWrite;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The programs that README.md shows do what it says. */
@Needs(CM)
@Once(value = FORKY, reason = "the programs of the guide compile and run")
class FirstProgramsTest {
  @Tag("host")
  @Test
  void readmeContainsThePrograms() throws IOException {
    assertShown(FirstConnection.class);
    assertShown(FirstWrite.class);
  }

  @Test
  @Tag("host")
  void aProgramWithoutArgumentsPrintsItsUsage() throws Exception {
    assertEquals(
        "Usage: FirstConnection server|client ADDRESS\n",
        printed(() -> FirstConnection.main(new String[0])));
  }

  private static void assertShown(Class<?> program) throws IOException {
    Path source = Path.of("src/test/java", program.getName().replace('.', '/') + ".java");
    String shown = Files.readString(source).replaceFirst("package .*\n\n", "");
    assertTrue(Files.readString(Path.of("README.md")).contains("```java\n" + shown + "```"), shown);
  }

  /** The lines of a page as they are, but for a port that is free: each second one is a client. */
  @Tag("host")
  @ParameterizedTest
  @CsvSource({
    "README.md, 0, Hello from the client's memory",
    "examples/README.md, 0, from the client",
    "examples/README.md, 1, ''"
  })
  void programsRunInTwoTerminalsWithoutANic(Path page, int pair, String last) throws Exception {
    List<String> lines =
        Files.readAllLines(page).stream()
            .filter(line -> line.startsWith("    VERBENA_SOFT=udp:"))
            .toList();
    String failure;
    do {
      failure = run(lines.get(2 * pair), lines.get(2 * pair + 1), last);
    } while (failure.contains(RdmaTimeoutException.class.getName()));
    assertEquals("", failure);
  }

  /**
   * Returns what a server and its client print if one fails: on a slow machine perhaps since the
   * ten seconds of a connection were not enough.
   */
  private static String run(String server, String client, String last) throws Exception {
    String port = Ports.free();
    try (Program serving = terminal(server, port);
        Program visiting = terminal(client, port)) {
      boolean isGood = visiting.exitStatus() == 0;
      if (isGood && !last.isEmpty()) { // Otherwise the server does not end.
        isGood = serving.exitStatus() == 0 && serving.text().endsWith(last + "\n");
      }
      return isGood ? "" : serving.text() + visiting.text();
    }
  }

  /** Runs a line, with the classes of the library in place of its jar, which may not exist yet. */
  private static Program terminal(String line, String port) throws IOException {
    String java =
        "'%s/bin/java' --enable-native-access=ALL-UNNAMED -cp '%s'"
            .formatted(
                System.getProperty("java.home"), ForkedJvm.root("dev/verbena/verbs/Verbena.class"));
    String command =
        line.strip().replace("./verbena run", java).replaceFirst("udp:([0-9.]+)", "udp:$1:" + port);
    return Program.start(new ProcessBuilder("bash", "-c", command));
  }

  @DeviceTest
  void writesWithinOneProgram() throws Exception {
    assertEquals("Hello, RDMA\n", printed(() -> FirstWrite.main(new String[0])));
  }

  @DeviceTest
  void connectsTwoPrograms() throws Exception {
    String address = Rig.addressB().getHostAddress();
    String printed =
        printed(
            () -> {
              FutureTask<Void> server =
                  new FutureTask<>(
                      () -> {
                        FirstConnection.main(new String[] {"server", address});
                        return null;
                      });
              Thread.ofPlatform().start(server);
              visit(address, server);
              server.get();
            });
    assertEquals("Hello from the client's memory\n", printed);
  }

  /** What a program prints. It runs in this JVM: a new one takes seconds under emulation. */
  private static String printed(Executable program) throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      program.run();
    } finally {
      System.setOut(before);
    }
    return printed.toString(StandardCharsets.UTF_8);
  }

  private interface Executable {
    void run() throws Exception;
  }

  /** Connects as soon as the server listens. */
  private static void visit(String address, FutureTask<?> server) throws Exception {
    while (true) {
      try {
        FirstConnection.main(new String[] {"client", address});
        return;
      } catch (ConnectionException e) {
        if (server.isDone()) {
          throw e;
        }
        Await.pass(Duration.ofMillis(100), "the server does not listen yet");
      }
    }
  }
}
