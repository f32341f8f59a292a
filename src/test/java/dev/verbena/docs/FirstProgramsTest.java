package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.samples.FirstConnection;
import dev.verbena.samples.FirstWrite;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The programs that README.md shows do what it says. */
class FirstProgramsTest {
  @Tag("host")
  @ParameterizedTest
  @ValueSource(classes = {FirstConnection.class, FirstWrite.class})
  void standInReadme(Class<?> program) throws IOException {
    Path source = Path.of("src/test/java", program.getName().replace('.', '/') + ".java");
    String shown = Files.readString(source).replaceFirst("package .*\n\n", "");
    assertTrue(Files.readString(Path.of("README.md")).contains("```java\n" + shown + "```"), shown);
  }

  @DeviceTest
  void writesWithinOneProgram() {
    assertEquals("Hello, RDMA\n", jvm().run(FirstWrite.class).succeeded());
  }

  @DeviceTest
  void connectsTwoPrograms() throws Exception {
    String address = Rig.addressB().getHostAddress();
    FutureTask<ForkedJvm.Result> server =
        new FutureTask<>(() -> jvm().run(FirstConnection.class, "server", address));
    Thread.ofVirtual().start(server);
    visit(address, server);
    String output = server.get(1, TimeUnit.MINUTES).succeeded();
    assertEquals("Hello from the client's memory\n", output);
  }

  /** Connects as soon as the server listens. */
  private static void visit(String address, FutureTask<?> server) throws Exception {
    long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
    while (true) {
      try {
        FirstConnection.main(new String[] {"client", address});
        return;
      } catch (ConnectionException e) {
        if (server.isDone() || System.nanoTime() > end) {
          throw e;
        }
        Thread.sleep(100);
      }
    }
  }

  /** Interpreted: it would not live long enough to be worth compiling. */
  private static ForkedJvm jvm() {
    return new ForkedJvm().with("-Xint").withNativeAccess();
  }
}
