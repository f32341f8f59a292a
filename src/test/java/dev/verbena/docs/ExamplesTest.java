package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.Verbena;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The programs of examples compile without a warning, and print what they should. */
class ExamplesTest {
  private static final Path EXAMPLES = Path.of("examples");

  @TempDir private static Path classes;

  /** Compiled together: a compiler takes its time under emulation. */
  @BeforeAll
  static void compile() throws IOException {
    StringWriter messages = new StringWriter();
    PrintWriter out = new PrintWriter(messages);
    String library =
        location(Verbena.class) + File.pathSeparator + location(dev.verbena.raw.rdma_h.class);
    List<String> arguments =
        new ArrayList<>(
            List.of("-Xlint:all,-path", "-proc:none", "-d", classes.toString(), "-cp", library));
    sources().stream().map(Path::toString).forEach(arguments::add);
    int status =
        ToolProvider.findFirst("javac")
            .orElseThrow()
            .run(out, out, arguments.toArray(String[]::new));
    assertEquals("", messages.toString());
    assertEquals(0, status);
  }

  private static Path location(Class<?> type) {
    return Path.of(URI.create(type.getProtectionDomain().getCodeSource().getLocation().toString()));
  }

  private static List<Path> sources() throws IOException {
    try (Stream<Path> files = Files.list(EXAMPLES)) {
      return files.filter(file -> file.toString().endsWith(".java")).sorted().toList();
    }
  }

  @Test
  @Tag("host")
  void everyExampleIsListed() throws IOException {
    String page = Files.readString(EXAMPLES.resolve("README.md"));
    sources().stream()
        .map(source -> source.getFileName().toString())
        .forEach(name -> assertTrue(page.contains("](" + name + ")"), name));
  }

  @DeviceTest
  void programsOfOneDevicePrintWhatArrived() throws Exception {
    assertEquals("written\n", printed("RcWrite"));
    assertEquals("sent\n", printed("SendReceiveEvents"));
    assertEquals("datagram\n", printed("UdDatagram"));
    assertEquals("40 plus 2\n42 was replaced by 7\n", printed("Atomics"));
    assertEquals("first, second\n", printed("SharedReceives"));
    assertEquals("through a window\n", printed("MemoryWindows"));
    assertEquals("RDMA_READ of the client\nread\n", printed("ExtendedQueue"));
  }

  @DeviceTest
  void virtualThreadsServeTheirClients() throws Exception {
    String printed = null;
    while (printed == null) {
      try {
        printed = printed("VirtualThreads", Rig.addressB().getHostAddress());
      } catch (ExecutionException e) {
        if (!isTimeout(e.getCause())) {
          throw e;
        }
      }
    }
    assertEquals("6 bytes\n", printed);
  }

  @DeviceTest
  void theClientWritesIntoTheMemoryOfTheServer() throws Exception {
    String address = Rig.addressB().getHostAddress();
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      FutureTask<Void> server = start("CmServer", address);
      while (!hasVisited(address)) {
        if (server.isDone()) {
          server = start("CmServer", address);
        }
        Thread.sleep(100);
      }
      server.get();
    } finally {
      System.setOut(before);
    }
    assertEquals("from the client\n", printed.toString(StandardCharsets.UTF_8));
  }

  private static FutureTask<Void> start(String program, String... arguments) {
    var task =
        new FutureTask<Void>(
            () -> {
              run(program, arguments);
              return null;
            });
    Thread.ofPlatform().start(task);
    return task;
  }

  /**
   * Whether the client reached the server. It does not before the server listens, nor on a machine
   * that is too slow for the ten seconds in which the programs connect.
   */
  private static boolean hasVisited(String address) throws Exception {
    try {
      run("CmClient", address);
      return true;
    } catch (ConnectionException e) {
      return false;
    } catch (VerbsException e) {
      if (isTimeout(e)) {
        return false;
      }
      throw e;
    }
  }

  /** Of the ten seconds in which the programs connect, on a machine that is too slow for them. */
  private static boolean isTimeout(Throwable thrown) {
    return thrown instanceof VerbsException e && e.errno() == Errno.ETIMEDOUT;
  }

  private static String printed(String program, String... arguments) throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      run(program, arguments);
    } finally {
      System.setOut(before);
    }
    return printed.toString(StandardCharsets.UTF_8);
  }

  private static void run(String program, String... arguments) throws Exception {
    URL[] path = {classes.toUri().toURL()};
    try (var loader = new URLClassLoader(path, ExamplesTest.class.getClassLoader())) {
      var main = loader.loadClass(program).getMethod("main", String[].class);
      main.invoke(null, (Object) arguments);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    }
  }
}
