package dev.verbena.programs;

import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.tools.Main;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/**
 * The script src/test/programs, in a project with the sources of the tests and a jar that refers to
 * the classes that are tested.
 */
@Tag("host")
class ProgramsScriptTest {
  private static final Path SOURCES = Path.of("src/test/java");
  private static final Path SCRIPT = Path.of("src/test/programs");

  @TempDir private Path project;

  @BeforeEach
  void makeProject() throws IOException {
    for (String folder : new String[] {"src/main", "src/tools", "src/test", "target", "reports"}) {
      Files.createDirectories(project.resolve(folder));
    }
    Files.createFile(project.resolve("pom.xml"));
    Files.createFile(project.resolve("reports/schema.json"));
    Files.copy(Path.of("verbena"), project.resolve("verbena"));
    Files.copy(SCRIPT, project.resolve(SCRIPT));
    Files.createSymbolicLink(project.resolve(SOURCES), SOURCES.toAbsolutePath());
    makeJar(project.resolve("target/verbena-0.1-tools.jar"));
  }

  @AfterEach
  void removeLink() throws IOException {
    Files.delete(project.resolve(SOURCES));
  }

  private static void makeJar(Path jar) throws IOException {
    Attributes attributes = new Attributes();
    attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    attributes.put(
        Attributes.Name.CLASS_PATH,
        Stream.of(Main.class, CommandLine.class, Gson.class, Histogram.class, NullMarked.class)
            .map(type -> ForkedJvm.root(type.getName().replace('.', '/') + ".class"))
            .map(root -> root.endsWith(".jar") ? root : root + "/")
            .distinct()
            .collect(joining(" ")));
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().putAll(attributes);
    new JarOutputStream(Files.newOutputStream(jar), manifest).close();
  }

  private String run(String... arguments) throws IOException, InterruptedException {
    ProcessBuilder script =
        new ProcessBuilder(
            Stream.concat(Stream.of("" + project.resolve(SCRIPT)), Stream.of(arguments)).toList());
    script.environment().put("JAVA_HOME", System.getProperty("java.home"));
    try (Program program = Program.start(script)) {
      return program.endsWell();
    }
  }

  @Test
  void theScriptCompilesProgramsOnceAndRunsThem() throws Exception {
    String output = run("rc-example", "--both-ends", "-p", Ports.free());
    assertTrue(output.contains("Message is: 'SEND operation      '"), output);
    FileTime compiled = compiled();
    output = run("--help");
    assertTrue(output.lines().anyMatch(line -> line.strip().startsWith("rping")), output);
    assertEquals(compiled, compiled(), "the programs were compiled again");
  }

  private FileTime compiled() throws IOException {
    String main = Programs.class.getName().replace('.', '/') + ".class";
    return Files.getLastModifiedTime(project.resolve("target/programs").resolve(main));
  }
}
