package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** No sample ignores how many requests were posted: a full queue is a result, not an exception. */
@Tag("host")
class IgnoredResultsTest {
  private static final Pattern IGNORED =
      Pattern.compile(
          "(?m)^\\s*(\\* +)?(\\w+(\\(\\w*\\))?\\.)+(post|complete|startSending)\\([^)]*\\);");

  @Test
  void noSampleIgnoresThem() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path file : files()) {
      String text = Files.readString(file);
      for (Matcher matcher = IGNORED.matcher(text); matcher.find(); ) {
        found.add(file + ": " + matcher.group().strip());
      }
    }
    assertEquals(List.of(), found);
  }

  private static List<Path> files() throws IOException {
    List<Path> files = new ArrayList<>(List.of(Path.of("README.md")));
    for (String folder : List.of("docs", "examples")) {
      files.addAll(files(Path.of(folder)));
    }
    for (String name : List.of("verbs", "flow", "util", "cm", "packet", "efa", "mlx5")) {
      files.addAll(files(Path.of("src/main/java/dev/verbena", name)));
    }
    return files;
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(path -> path.toString().matches(".*\\.(md|java)")).toList();
    }
  }
}
