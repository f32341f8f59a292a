package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A reader who sees the name of a class knows which one it is. */
@Tag("host")
class UniqueNamesTest {
  private static final Path TESTS = Path.of("src/test/java");

  @Test
  void aClassOfTheTestsHasItsNameAlone() throws IOException {
    Map<String, List<Path>> files = new TreeMap<>();
    for (Path tree : List.of(Path.of("src/main/java"), TESTS)) {
      try (Stream<Path> all = Files.walk(tree)) {
        all.filter(file -> file.toString().matches(".*/\\w+\\.java"))
            .forEach(
                file ->
                    files
                        .computeIfAbsent(file.getFileName().toString(), _ -> new ArrayList<>())
                        .add(file));
      }
    }
    assertTrue(files.containsKey("UniqueNamesTest.java"), "files are found");
    files
        .values()
        .removeIf(same -> same.size() == 1 || same.stream().noneMatch(f -> f.startsWith(TESTS)));
    assertEquals(Map.of(), files);
  }
}
