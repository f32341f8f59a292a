package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The patches of {@link PlantedDefectsTest}, which takes long, fit the library as it is. */
@Tag("host")
class PlantedPatchesTest {
  private static final String FILE = "+++ b/";

  static List<Path> patches() throws IOException {
    return PlantedDefectsTest.patches();
  }

  @ParameterizedTest
  @MethodSource("patches")
  void theLinesThatItChangesAreThere(Path patch) throws IOException {
    String source = "";
    List<String> hunks = new ArrayList<>();
    for (String hunk : Files.readString(patch).split("(?m)^(?=@@ |--- |diff )", -1)) {
      if (hunk.startsWith("@@ ")) {
        String before =
            hunk.lines()
                .skip(1)
                .filter(l -> !l.startsWith("+"))
                .map(PlantedPatchesTest::cut)
                .collect(Collectors.joining("\n"));
        assertTrue(source.contains(before), () -> patch + " does not fit:\n" + before);
        hunks.add(before);
      } else if (hunk.contains(FILE)) {
        String file = hunk.substring(hunk.indexOf(FILE) + FILE.length()).strip();
        source = Files.readString(Path.of(file));
      }
    }
    assertFalse(hunks.isEmpty(), () -> patch + " changes nothing");
  }

  private static String cut(String line) {
    return line.isEmpty() ? line : line.substring(1);
  }
}
