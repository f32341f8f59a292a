package dev.verbena.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A file of the project that a test generates and compares: {@code mvn test -Dgroups=generated
 * -Dverbena.generated=write} writes all such files. Their tests have the tag {@value #TAG}.
 */
public final class GeneratedFile {
  /** The tag of the tests that generate files. */
  public static final String TAG = "generated";

  private GeneratedFile() {}

  /**
   * Compares the file with what was generated, or writes it with {@code -Dverbena.generated=write}.
   */
  public static void check(Path file, String generated) throws IOException {
    if (System.getProperty("verbena.generated", "").equals("write")) {
      Files.createDirectories(file.getParent());
      Files.writeString(file, generated);
    }
    String committed = Files.readString(file);
    String outOfDate = file + " is out of date: run with -Dverbena.generated=write";
    assertEquals(List.of(), differences(committed, generated), outOfDate);
    assertEquals(generated, committed, outOfDate);
  }

  /** The lines that one of the texts lacks. */
  private static List<String> differences(String committed, String generated) {
    List<String> gone = new ArrayList<>(committed.lines().toList());
    List<String> added = new ArrayList<>();
    generated
        .lines()
        .forEach(
            line -> {
              if (!gone.remove(line)) {
                added.add("+ " + line);
              }
            });
    List<String> differences = new ArrayList<>(gone.stream().map(line -> "- " + line).toList());
    differences.addAll(added);
    return differences;
  }
}
