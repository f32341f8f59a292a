package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The table of renamed members in {@code CHANGELOG.md}, beside the listing of the public API. */
@Tag("host")
class ChangelogTest {
  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| (`\\w+.*`.*) \\| (`.+`) \\| (`.+`) \\|$");
  private static final Pattern NAME = Pattern.compile("`(\\w+)");

  private static List<String> names(String cell) {
    List<String> names = new ArrayList<>();
    Matcher matcher = NAME.matcher(cell);
    while (matcher.find()) {
      names.add(matcher.group(1));
    }
    return names;
  }

  @Test
  void newNamesArePublic() throws IOException {
    String api = Files.readString(Path.of("src/build/public-api.txt"));
    Matcher row = ROW.matcher(Files.readString(Path.of("CHANGELOG.md")));
    List<String> missing = new ArrayList<>();
    int rows = 0;
    for (; row.find(); rows++) {
      for (String name : names(row.group(3))) {
        if (!Pattern.compile("[ .]" + name + "\\b").matcher(api).find()) {
          missing.add(name);
        }
      }
    }
    assertTrue(rows > 20, "rows: " + rows);
    assertEquals(List.of(), missing);
  }
}
