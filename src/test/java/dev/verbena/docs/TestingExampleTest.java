package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.Verbena;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** The tests of the project in examples/testing pass, which docs/testing.md quotes. */
@Tag("host")
class TestingExampleTest {
  private static final Path PROJECT = Path.of("examples/testing");

  @TempDir private Path classes;

  @Test
  void itsTestsPass() throws Exception {
    compile();
    try (URLClassLoader loader =
        new URLClassLoader(
            new URL[] {classes.toUri().toURL()}, TestingExampleTest.class.getClassLoader())) {
      SummaryGeneratingListener summary = new SummaryGeneratingListener();
      // A simulation requires JDK 24.
      boolean canSimulate = Runtime.version().feature() >= 24;
      List<DiscoverySelector> tests = new ArrayList<>();
      tests.add(selectClass(loader.loadClass("example.KeyValueServerTest")));
      if (canSimulate) {
        tests.add(selectClass(loader.loadClass("example.ReplicatedRegisterTest")));
      }
      LauncherFactory.create()
          .execute(LauncherDiscoveryRequestBuilder.request().selectors(tests).build(), summary);
      assertEquals(
          "",
          summary.getSummary().getFailures().stream()
              .map(failure -> failure.getTestIdentifier().getDisplayName() + failure.getException())
              .collect(Collectors.joining("\n")));
      assertEquals(canSimulate ? 7 : 5, summary.getSummary().getTestsSucceededCount());
    }
  }

  private void compile() throws IOException {
    String classPath =
        Stream.of(Verbena.class, rdma_h.class, Test.class, org.apiguardian.api.API.class)
            .map(type -> type.getProtectionDomain().getCodeSource().getLocation())
            .map(location -> Path.of(URI.create(location.toString())).toString())
            .collect(Collectors.joining(File.pathSeparator));
    List<String> arguments =
        new ArrayList<>(List.of("-proc:none", "-d", classes.toString(), "-cp", classPath));
    try (Stream<Path> files = Files.walk(PROJECT)) {
      files.map(Path::toString).filter(file -> file.endsWith(".java")).forEach(arguments::add);
    }
    StringWriter messages = new StringWriter();
    PrintWriter out = new PrintWriter(messages);
    ToolProvider.findFirst("javac").orElseThrow().run(out, out, arguments.toArray(String[]::new));
    assertEquals("", messages.toString());
  }
}
