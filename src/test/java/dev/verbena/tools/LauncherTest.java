package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launcher in a project whose JDK and Maven only say what they are asked for. */
@Tag("host")
class LauncherTest {
  private static final Instant LONG_AGO = Instant.parse("2025-01-01T00:00:00Z");

  @TempDir private Path project;

  @BeforeEach
  void makeProject() throws IOException {
    script("verbena", Files.readString(Path.of("verbena")));
    script("jdk/bin/java", "#!/bin/sh\necho java \"$@\"\n");
    write("jdk/release", "JAVA_VERSION=\"25.0.1\"\n");
    script(
        "bin/mvn", "#!/bin/sh\necho mvn\nmkdir -p target\ntouch target/verbena-0.10-tools.jar\n");
    for (String root : new String[] {"src/main", "src/tools"}) {
      Path source = write(root + "/Source.java", "");
      Files.setLastModifiedTime(source.getParent(), FileTime.from(LONG_AGO));
    }
    write("pom.xml", "");
    write("reports/schema.json", "");
  }

  private Path write(String name, String text) throws IOException {
    Path file = project.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
    Files.setLastModifiedTime(file, FileTime.from(LONG_AGO));
    return file;
  }

  private void script(String name, String text) throws IOException {
    Files.setPosixFilePermissions(write(name, text), PosixFilePermissions.fromString("rwx------"));
  }

  private void jar(String version, int age) throws IOException {
    Path jar = write("target/verbena-" + version + "-tools.jar", "");
    Files.setLastModifiedTime(jar, FileTime.from(LONG_AGO.plusSeconds(100 - age)));
  }

  private ProcessBuilder launcher(String... arguments) {
    ProcessBuilder launcher =
        new ProcessBuilder(project.resolve("verbena").toString()).redirectErrorStream(true);
    launcher.command().addAll(List.of(arguments));
    launcher.environment().put("JAVA_HOME", project.resolve("jdk").toString());
    launcher.environment().merge("PATH", project.resolve("bin") + ":", (old, own) -> own + old);
    return launcher;
  }

  private String run() throws IOException, InterruptedException {
    return run("doctor");
  }

  private String run(String... arguments) throws IOException, InterruptedException {
    Process process = launcher(arguments).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    return output;
  }

  @Test
  void theNewestJarRunsWhateverItsVersion() throws Exception {
    jar("0.9", 2);
    jar("0.10", 1);
    jar("0.1", 3);
    String output = run();
    assertTrue(output.contains("/target/verbena-0.10-tools.jar dev.verbena.tools.Main doctor"));
    assertFalse(output.contains("mvn"), output);
  }

  @Test
  void runsAProgramWithTheLibrary() throws Exception {
    jar("0.10", 1);
    assertEquals(
        "java --enable-native-access=ALL-UNNAMED -cp %s/target/verbena-0.10-tools.jar -Da=b My.java c d\n"
            .formatted(project),
        run("run", "-Da=b", "My.java", "c", "d"));
  }

  @Test
  void runWithoutAProgramIsWrongUsage() throws Exception {
    Process process = launcher("run").start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(output.startsWith("Usage: verbena run "), output);
    assertEquals(2, process.waitFor());
  }

  @Test
  void buildsOnceAfterAChangeOfVersion() throws Exception {
    jar("0.1", 1);
    Files.setLastModifiedTime(
        project.resolve("pom.xml"), FileTime.from(LONG_AGO.plusSeconds(1000)));
    String first = run();
    assertTrue(first.contains("mvn") && first.contains("verbena-0.10-tools.jar"), first);
    String second = run();
    assertTrue(!second.contains("mvn") && second.contains("verbena-0.10-tools.jar"), second);
  }

  @Test
  void theBuildArchivesTheClasses() throws Exception {
    script(
        "jdk/bin/java",
        """
        #!/bin/sh
        for option; do
          case $option in
            -XX:ArchiveClassesAtExit=*) touch "${option#*=}" ;;
          esac
        done
        echo java "$@"
        """);
    String option = "-XX:SharedArchiveFile=" + project + "/target/verbena-0.10-tools-jdk25.0.1.jsa";
    assertTrue(run().contains(option));
    String second = run();
    assertTrue(!second.contains("mvn") && second.contains(option), second);
  }

  @Test
  void runsWithoutAnArchive() throws Exception {
    assertFalse(run().contains("-XX:SharedArchiveFile"));
    assertFalse(run().contains("-XX:SharedArchiveFile"));
  }

  @Test
  void withoutAJarItBuilds() throws Exception {
    String output = run();
    assertTrue(output.contains("mvn") && output.contains("verbena-0.10-tools.jar"), output);
  }

  @Test
  void aLongBuildShowsThatItGoesOn() throws Exception {
    script(
        "bin/mvn",
        """
        #!/bin/sh
        printf 'one line '
        sleep 6
        echo in two parts
        printf 'no end of line'
        mkdir -p target
        touch target/verbena-0.10-tools.jar
        """);
    String output = run();
    assertTrue(output.matches("(?s).*\nverbena: building, [0-9]+ s\n.*"), output);
    assertTrue(output.contains("\none line in two parts\nno end of line\n"), output);
  }

  @Test
  void aFailedBuildEndsTheLauncher() throws Exception {
    script("bin/mvn", "#!/bin/sh\necho what is wrong\nexit 1\n");
    Process process = launcher("doctor").start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(3, process.waitFor(), output);
    assertTrue(output.endsWith("what is wrong\nverbena: the build failed\n"), output);
  }
}
