package dev.verbena.docs;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.samples.FirstConnection;
import dev.verbena.samples.FirstWrite;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

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

  private static void assertShown(Class<?> program) throws IOException {
    Path source = Path.of("src/test/java", program.getName().replace('.', '/') + ".java");
    String shown = Files.readString(source).replaceFirst("package .*\n\n", "");
    assertTrue(Files.readString(Path.of("README.md")).contains("```java\n" + shown + "```"), shown);
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
