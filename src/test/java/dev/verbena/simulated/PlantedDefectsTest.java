package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Program;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.platform.commons.util.ReflectionUtils;
import org.opentest4j.AssertionFailedError;

/**
 * The defects of the folder {@code src/test/planted} are planted in a copy of the library, one
 * after the other, and found by a scenario that does not know them: the one that the first line of
 * the patch names. {@code mvn test -Dtest=PlantedDefectsTest} writes to {@code target/planted.tsv}
 * how many seeds each takes.
 */
@Tag("planted")
@EnabledForJreRange(minVersion = 24)
class PlantedDefectsTest {
  private static final Path PATCHES = Path.of("src/test/planted");
  private static final Path TABLE = Path.of("target/planted.tsv");
  private static final Pattern SCENARIO = Pattern.compile("(\\w+)#(\\w+)");
  private static final Pattern PATCHED = Pattern.compile("(?m)^\\+\\+\\+ b/(src/main/java/\\S+)");
  private static final Pattern FOUND = Pattern.compile("seed (\\d+), after .*");

  /** Runs a test method of a scenario with many seeds, and prints how it failed. */
  static final class Scenario {
    private Scenario() {}

    public static void main(String[] args) throws Exception {
      var method = Class.forName(args[0]).getDeclaredMethod(args[1]);
      var constructor = method.getDeclaringClass().getDeclaredConstructor();
      method.setAccessible(true);
      constructor.setAccessible(true);
      try {
        Object _ = method.invoke(constructor.newInstance());
      } catch (java.lang.reflect.InvocationTargetException e) {
        System.out.println(e.getCause().getMessage());
      }
    }
  }

  static List<Path> patches() throws IOException {
    try (Stream<Path> files = Files.list(PATCHES)) {
      return files.filter(file -> file.toString().endsWith(".patch")).sorted().toList();
    }
  }

  @ParameterizedTest
  @MethodSource("patches")
  void aScenarioFindsADefectThatItDoesNotKnow(Path patch, @TempDir Path work) throws Exception {
    String text = Files.readString(patch);
    Matcher scenario = SCENARIO.matcher(text.lines().findFirst().orElseThrow());
    assertTrue(scenario.find(), () -> patch + " names no scenario in its first line");
    compile(planted(patch, text, work), work.resolve("classes"));
    String output = output(scenario.group(1), scenario.group(2), work.resolve("classes"));
    Matcher found = FOUND.matcher(output);
    assertTrue(found.find(), () -> patch + " is not found: " + output);
    Files.writeString(
        TABLE,
        String.join(
            "\t",
            patch.getFileName().toString().replace(".patch", ""),
            scenario.group(),
            Long.toString(Long.parseLong(found.group(1)) + 1),
            found.group().lines().findFirst().orElseThrow() + "\n"),
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }

  /** Copies the files that a patch changes, changes the copies, and returns them. */
  private static List<Path> planted(Path patch, String text, Path work) throws Exception {
    List<Path> copies = new ArrayList<>();
    for (Matcher file = PATCHED.matcher(text); file.find(); ) {
      Path copy = work.resolve(file.group(1));
      Files.createDirectories(copy.getParent());
      copies.add(Files.copy(Path.of(file.group(1)), copy));
    }
    assertFalse(copies.isEmpty(), () -> patch + " changes no file of the library");
    try (Program git =
        Program.start(
            new ProcessBuilder("git", "apply", patch.toAbsolutePath().toString())
                .directory(work.toFile()))) {
      assertEquals(0, git.exitStatus(), git.text());
    }
    return copies;
  }

  private static void compile(List<Path> files, Path classes) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter messages = new StringWriter();
    List<String> options =
        List.of(
            "-proc:none",
            "-d",
            Files.createDirectories(classes).toString(),
            "-cp",
            ForkedJvm.root("dev/verbena/verbs/Verbena.class")
                + ":"
                + ForkedJvm.root("org/jspecify/annotations/Nullable.class"));
    try (var manager = compiler.getStandardFileManager(null, null, null)) {
      var units = manager.getJavaFileObjectsFromPaths(files);
      assertTrue(
          compiler.getTask(messages, manager, null, options, null, units).call(),
          messages::toString);
    }
  }

  private static String output(String scenario, String method, Path classes) {
    return new ForkedJvm()
        .with(
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "-Ddev.verbena.simulation.seeds=100")
        .withNativeAccess()
        .before(classes)
        .withJarOf(Test.class)
        .withJarOf(ReflectionUtils.class)
        .withJarOf(AssertionFailedError.class)
        .withJarOf(Nullable.class)
        .run(Scenario.class, "dev.verbena.simulated." + scenario, method)
        .succeeded();
  }
}
